import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExpression } from '../../../src/domain/schedule/expression.ts';
import { nextTick } from '../../../src/domain/schedule/next-tick.ts';

interface Window {
  readonly zone: string;
  readonly from: string;
  readonly hours: number;
  readonly ticks: Readonly<Record<string, readonly string[]>>;
}

/** Written by write-golden-ticks.mjs, which knows neither the code under test nor croner. */
const WINDOWS = JSON.parse(
  readFileSync(new URL('./golden-ticks.json', import.meta.url), 'utf8'),
) as readonly Window[];

const ROWS = WINDOWS.flatMap(({ zone, from, hours, ticks }) =>
  Object.entries(ticks).map(([expression, instants]) => ({
    ...{ zone, from, expression },
    begin: Date.parse(from),
    end: Date.parse(from) + hours * 3_600_000,
    instants: instants.map((instant) => Date.parse(instant)),
  })),
);

test('there are 12 expressions at two times of the year in each of 6 zones', () => {
  expect(ROWS).toHaveLength(12 * 2 * 6);
  expect(new Set(ROWS.map(({ zone }) => zone)).size).toBe(6);
});

describe.each(ROWS)('$expression in $zone from $from', ({ expression, zone, begin, end, instants }) => {
  const parsed = parseExpression(expression);

  test('has the ticks that a walk through every minute finds', () => {
    const found: number[] = [];
    for (let tick = nextTick(parsed, zone, begin - 1); tick !== undefined && tick < end; )
      tick = nextTick(parsed, zone, found[found.push(tick) - 1]!);
    expect(found.map((tick) => new Date(tick).toISOString())).toEqual(
      instants.map((instant) => new Date(instant).toISOString()),
    );
  });

  test('has the same next tick whatever instant it is asked at', () => {
    fc.assert(
      fc.property(fc.integer({ min: begin, max: end - 1 }), (at) => {
        const next = instants.find((instant) => instant > at);
        if (next !== undefined) expect(nextTick(parsed, zone, at)).toBe(next);
        else expect(nextTick(parsed, zone, at)).toBeGreaterThanOrEqual(end);
      }),
      { numRuns: 30 },
    );
  });
});

describe('an interval', () => {
  const every = parseExpression('@every 90s');
  const at = Date.parse('2026-03-29T00:59:00Z');

  test('counts from the instant it is given', () => {
    expect(nextTick(every, 'Europe/Berlin', at)).toBe(at + 90_000);
  });

  test('keeps its beat after ticks that were missed', () => {
    const late = at + 10 * 90_000 + 1;
    expect(nextTick(every, 'UTC', late, at)).toBe(at + 11 * 90_000);
    expect(nextTick(every, 'UTC', at + 90_000, at)).toBe(at + 180_000);
  });
});

test.each(['FRI-SUN', '5-7', 'fri-sun', 'FRI,SAT,SUN', 'SUN,FRI-SAT'])(
  '%s are three days, of any week',
  (days) => {
    const parsed = parseExpression(`0 3 * * ${days}`);
    const found: string[] = [];
    // From a Monday on.
    for (let at = Date.parse('2026-11-23T00:00:00Z'); found.length < 4; ) {
      at = nextTick(parsed, 'UTC', at)!;
      found.push(new Date(at).toISOString().slice(0, 10));
    }
    expect(found).toEqual(['2026-11-27', '2026-11-28', '2026-11-29', '2026-12-04']);
  },
);

test('a day that is rare is found, however far away', () => {
  const leapDay = parseExpression('0 0 29 2 *');
  const next = nextTick(leapDay, 'UTC', Date.parse('2096-03-01T00:00:00Z'));
  expect(new Date(next!).toISOString()).toBe('2104-02-29T00:00:00.000Z');
});
