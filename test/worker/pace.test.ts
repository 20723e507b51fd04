import { expect, test } from 'vitest';
import { Pace } from '../../src/worker/pace.ts';

test('tasks now and then are not dense, a hundred a second and more are', () => {
  const isDenseAt = (perS: number) => {
    const pace = new Pace();
    for (let n = 0; n < perS; n++) pace.count(1, (n * 1000) / perS);
    return pace.isDense(1000);
  };
  expect([1, 30, 80].map(isDenseAt)).toEqual([false, false, false]);
  expect([150, 2000].map(isDenseAt)).toEqual([true, true]);
});

test('a handful at once is dense for a moment', () => {
  const pace = new Pace();
  pace.count(20, 0);
  expect(pace.isDense(1)).toBe(true);
  expect(pace.isDense(100)).toBe(false);
});

test('however many came, the end of the flow is noticed within 200 ms', () => {
  const pace = new Pace();
  pace.count(100_000, 0);
  expect(pace.isDense(100)).toBe(true);
  expect(pace.isDense(200)).toBe(false);
});
