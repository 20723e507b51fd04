import { expect, test } from 'vitest';
import { Conditions } from '../../src/lib/conditions.ts';

/** Watches which of some promises have resolved. */
async function resolvedOf(promises: Readonly<Record<string, Promise<void>>>): Promise<string[]> {
  const resolved: string[] = [];
  for (const [name, promise] of Object.entries(promises)) void promise.then(() => resolved.push(name));
  await new Promise(setImmediate);
  return resolved;
}

test('a promise resolves at once if its condition is met, or at the check that finds it met', async () => {
  const conditions = new Conditions();
  let count = 2;
  const promises = {
    two: conditions.until(() => count === 2),
    one: conditions.until(() => count === 1),
    none: conditions.until(() => count === 0),
  };
  expect(await resolvedOf(promises)).toEqual(['two']);
  count = 1;
  expect(await resolvedOf(promises)).toEqual(['two']);
  conditions.check();
  expect(await resolvedOf(promises)).toEqual(['two', 'one']);
  count = 0;
  conditions.check();
  expect(await resolvedOf(promises)).toEqual(['two', 'one', 'none']);
});

test('a condition that was met between two checks keeps its promise waiting', async () => {
  const conditions = new Conditions();
  let isOpen = false;
  const opened = conditions.until(() => isOpen);
  isOpen = true;
  isOpen = false;
  conditions.check();
  expect(await resolvedOf({ opened })).toEqual([]);
});
