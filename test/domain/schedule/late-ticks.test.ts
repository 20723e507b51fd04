import { describe, expect, test } from 'vitest';
import { parseExpression } from '../../../src/domain/schedule/expression.ts';
import { firingOf } from '../../../src/domain/schedule/late-ticks.ts';
import { parseMissed } from '../../../src/domain/schedule/missed-policy.ts';

const TICK = Date.parse('2030-01-01T00:00:00Z');
const SECOND = 1000;
const MINUTE = 60 * SECOND;

/** What fires this long after the tick, each as minutes after it. */
function fired(missed: string, lateMs: number, expression = '* * * * *') {
  const due = { expression: parseExpression(expression), tz: 'UTC', missed: parseMissed(missed), tick: TICK };
  const { ticks, next, passed } = firingOf(due, TICK + lateMs);
  const minutes = (at: number) => (at - TICK) / MINUTE;
  return { ticks: ticks.map(minutes), next: minutes(next!), passed };
}

describe('a tick at its time', () => {
  test.each(['skip', 'latest', 'all', 'all:1'])('fires, whatever is said of late ones: %s', (missed) => {
    expect(fired(missed, 3)).toEqual({ ticks: [0], next: 1, passed: 0 });
  });
});

describe('after half an hour without workers', () => {
  const LATE = 30 * MINUTE + 30 * SECOND;

  test('skip fires the tick of this minute alone', () => {
    expect(fired('skip', LATE)).toEqual({ ticks: [30], next: 31, passed: 30 });
  });
  test('skip fires nothing that is more than a minute late', () => {
    expect(fired('skip', LATE, '@hourly')).toEqual({ ticks: [], next: 60, passed: 1 });
  });
  test('latest fires the last one', () => {
    expect(fired('latest', LATE)).toEqual({ ticks: [30], next: 31, passed: 30 });
    expect(fired('latest', LATE, '@hourly')).toEqual({ ticks: [0], next: 60, passed: 0 });
  });
  test('all fires each, up to 100', () => {
    expect(fired('all', LATE).ticks).toEqual(Array.from({ length: 31 }, (_, minute) => minute));
    expect(fired('all', 3 * LATE * 2).ticks).toHaveLength(100);
  });
  test('all:n fires the last n', () => {
    expect(fired('all:2', LATE)).toEqual({ ticks: [29, 30], next: 31, passed: 29 });
  });
  test('an interval keeps its beat', () => {
    expect(fired('all:2', LATE, '@every 7m')).toEqual({ ticks: [21, 28], next: 35, passed: 3 });
  });
});

test.each([1999, 2000, 2050, 2099, 2100, 4100])(
  'an outage of %i s is walked through in steps, and then the last ticks of all fire',
  (late) => {
    const now = TICK + late * SECOND;
    for (const most of [1, 3, 100, 2500]) {
      const due = {
        expression: parseExpression('* * * * * *'),
        tz: 'UTC',
        missed: parseMissed(`all:${most}`),
      };
      let firing = firingOf({ ...due, tick: TICK }, now);
      let passed = firing.passed;
      for (let steps = 0; firing.ticks.length === 0 && steps < 100; steps++) {
        expect(firing.passed).toBe(2000);
        firing = firingOf({ ...due, tick: firing.next! }, now);
        passed += firing.passed;
      }
      const count = Math.min(most, late + 1);
      const last = Array.from({ length: count }, (_, nth) => now - (count - 1 - nth) * SECOND);
      expect(firing.ticks).toEqual(last);
      expect({ next: firing.next, passed }).toEqual({ next: now + SECOND, passed: late + 1 - count });
    }
  },
);

test.each(['', 'all:0', 'all:10000', 'all:x', 'some', 5, null])('%j is refused in one line', (given) => {
  expect(() => parseMissed(given, '--missed')).toThrow(
    /^--missed .*: expected skip, latest, all, or all:n with n from 1 to 9999$/,
  );
});
