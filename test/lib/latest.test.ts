import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Latest } from '../../src/lib/latest.ts';

test('the first value is passed on at once, of those that follow the last one, once the time has passed', async () => {
  const passed: number[] = [];
  const latest = new Latest<number>(30, (value) => passed.push(value));
  for (let value = 1; value <= 1000; value++) latest.put(value);
  expect(passed).toEqual([1]);
  while (passed.length < 2) await sleep(5);
  expect(passed).toEqual([1, 1000]);
});

test('what is kept back is passed on when asked for, and only once', () => {
  const passed: string[] = [];
  const latest = new Latest<string>(60_000, (value) => passed.push(value));
  latest.flush();
  latest.put('a');
  latest.put('b');
  latest.flush();
  latest.flush();
  expect(passed).toEqual(['a', 'b']);
});
