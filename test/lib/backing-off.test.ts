import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backingOffMs } from '../../src/lib/backing-off.ts';

const bounds = { baseMs: 100, maxMs: 10_000 };

test('the bound doubles with each failure up to the longest', () => {
  const almost = 1 - Number.EPSILON;
  const delays = [1, 2, 3, 7, 8, 100].map((failures) => Math.round(backingOffMs(failures, almost, bounds)));
  expect(delays).toEqual([100, 200, 400, 6400, 10_000, 10_000]);
});

test('chance spreads the delay over the whole range', () => {
  expect(backingOffMs(3, 0, bounds)).toBe(0);
  expect(backingOffMs(3, 0.5, bounds)).toBe(200);
});

test('no number of failures gives anything but a delay', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (failures, random) => {
        const delayMs = backingOffMs(failures, random, bounds);
        return delayMs >= 0 && delayMs <= 10_000;
      },
    ),
  );
});
