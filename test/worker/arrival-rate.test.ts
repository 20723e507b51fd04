import { expect, test } from 'vitest';
import { ArrivalRate } from '../../src/worker/claim/arrival-rate.ts';

test('tasks now and then are not dense, a hundred a second and more are', () => {
  const isDenseAt = (perS: number) => {
    const arrivals = new ArrivalRate();
    for (let n = 0; n < perS; n++) arrivals.count(1, (n * 1000) / perS);
    return arrivals.isDense(1000);
  };
  expect([1, 30, 80].map(isDenseAt)).toEqual([false, false, false]);
  expect([150, 2000].map(isDenseAt)).toEqual([true, true]);
});

test('a handful at once is dense for a moment', () => {
  const arrivals = new ArrivalRate();
  arrivals.count(20, 0);
  expect(arrivals.isDense(1)).toBe(true);
  expect(arrivals.isDense(100)).toBe(false);
});

test('however many came, the end of the flow is noticed within 200 ms', () => {
  const arrivals = new ArrivalRate();
  arrivals.count(100_000, 0);
  expect(arrivals.isDense(100)).toBe(true);
  expect(arrivals.isDense(200)).toBe(false);
});
