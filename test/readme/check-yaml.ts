import { defaultLoaders } from 'cosmiconfig';
import { expect } from 'vitest';
import { checkTaskq } from './check-taskq.ts';
import type { Block } from './documents.ts';

/** Checks a file of YAML: that it parses, that commands of taskq in it exist, and that nothing is killed too soon. */
export function checkYaml({ text, at }: Block): void {
  const content: unknown = defaultLoaders['.yaml'](at, text);
  expect(content, at).toBeTypeOf('object');
  for (const { key, value } of entriesOf(content)) {
    if (Array.isArray(value) && value[0] === 'node_modules/.bin/taskq') checkTaskq(value.slice(1), at);
    if (key === 'terminationGracePeriodSeconds') expect(value, `${at}: ${key}`).toBeGreaterThanOrEqual(35);
    if (key === 'stop_grace_period')
      expect(Number.parseInt(String(value), 10), `${at}: ${key}`).toBeGreaterThanOrEqual(35);
  }
}

/** Every key at every depth. */
function entriesOf(content: unknown): { key: string; value: unknown }[] {
  if (typeof content !== 'object' || content === null) return [];
  return Object.entries(content).flatMap(([key, value]) => [{ key, value }, ...entriesOf(value)]);
}
