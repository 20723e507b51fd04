import fc from 'fast-check';
import { expect, test } from 'vitest';
import { pathOf, timeTicks, valueAxis } from '../../../src/ui/lib/scale.ts';

test.each([
  [0, [0, 1]],
  [3, [0, 1, 2, 3]],
  [30, [0, 10, 20, 30]],
  [37, [0, 10, 20, 30, 40]],
  [0.04, [0, 0.01, 0.02, 0.03, 0.04]],
])('an axis up to %d has the labels %j', (most, ticks) => {
  expect(valueAxis(most, 4).ticks.map((tick) => Math.round(tick * 1e9) / 1e9)).toEqual(ticks);
});

test('an axis reaches every value, with few labels', () => {
  fc.assert(
    fc.property(fc.double({ min: 1e-6, max: 1e15, noNaN: true }), (most) => {
      const axis = valueAxis(most, 4);
      expect(axis.most).toBeGreaterThanOrEqual(most * (1 - 1e-9));
      expect(axis.ticks.length).toBeLessThanOrEqual(6);
    }),
  );
});

test('times of an axis are round, in the range and at most as many as wanted', () => {
  const hour = 3_600_000;
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 2e12 }),
      fc.integer({ min: 60_000, max: 30 * 24 * hour }),
      (from, length) => {
        const ticks = timeTicks(from, from + length, 8);
        expect(ticks.length).toBeLessThanOrEqual(9);
        expect(ticks.every((tick) => tick >= from && tick <= from + length && tick % 60_000 === 0)).toBe(
          true,
        );
      },
    ),
  );
});

test('a line has a gap where there is no value, and a value alone is a dot', () => {
  expect(pathOf([[0, 1], [1, 2], null, [3, 4.56], null, null, [6, 7], [7, 8]])).toBe(
    'M0 1L1 2M3 4.6h.1M6 7L7 8',
  );
});
