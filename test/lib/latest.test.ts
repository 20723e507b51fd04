import { afterEach, expect, test, vi } from 'vitest';
import { Latest } from '../../src/lib/latest.ts';

afterEach(() => void vi.useRealTimers());

test('the first value is passed on at once, of those that follow the last one, once the time has passed', () => {
  vi.useFakeTimers();
  const passed: number[] = [];
  const latest = new Latest<number>(30, (value) => passed.push(value));
  for (let value = 1; value <= 1000; value++) latest.put(value);
  expect(passed).toEqual([1]);
  vi.advanceTimersByTime(29);
  expect(passed).toEqual([1]);
  vi.advanceTimersByTime(1);
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
