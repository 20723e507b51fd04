import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { formatDuration, MAX_DURATION_MS, parseDuration, toDurationMs } from '../../src/lib/duration.ts';
import { TaskqError } from '../../src/lib/errors.ts';

describe('a duration', () => {
  test.each([
    ['500ms', 500],
    ['30s', 30_000],
    ['10m', 600_000],
    ['2h', 7_200_000],
    ['7d', 604_800_000],
    ['1h30m', 5_400_000],
    ['1.5s', 1500],
    ['0s', 0],
    ['PT10M', 600_000],
    ['P7D', 604_800_000],
    ['P2W', 1_209_600_000],
    ['P1DT2H', 93_600_000],
    ['PT1.5S', 1500],
    ['36525d', MAX_DURATION_MS],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  test.each([
    '',
    '10',
    '10 minutes',
    '-5s',
    '5S',
    '30m1h',
    '1h1h',
    'P',
    'PT',
    'P1DT',
    'P1M',
    'P1Y',
    'pt5s',
    ' 5s',
    '1e3s',
    'NaNs',
    '१s',
    'ms',
    '.5s',
  ])('%j is refused with what was expected', (text) => {
    expect(() => parseDuration(text)).toThrow(/expected a duration such as 500ms, 30s, 1h30m/);
  });

  test('that PostgreSQL could not add to today is refused', () => {
    for (const text of ['36526d', '999999999999999d', 'P999999999W']) {
      expect(() => parseDuration(text)).toThrow('expected at most 100 years');
    }
  });

  test('is refused as a wrong use, under the name of the option it was given for', () => {
    expect.assertions(2);
    try {
      parseDuration('soon', 'delay');
    } catch (error) {
      expect(error).toBeInstanceOf(TaskqError);
      expect(error).toMatchObject({
        code: 'bad_duration',
        exitCode: 2,
        message: expect.stringMatching(/^delay "soon": /),
      });
    }
  });

  test('may be a number of milliseconds, but no negative, infinite or other value', () => {
    expect(toDurationMs(1500.4)).toBe(1500);
    expect(toDurationMs('2s')).toBe(2000);
    for (const value of [
      -1,
      Number.NaN,
      Number.POSITIVE_INFINITY,
      1e300,
      null,
      undefined,
      {},
      5n,
      Symbol('x'),
    ]) {
      expect(() => toDurationMs(value)).toThrow(TaskqError);
    }
  });

  test.each([
    [0, '0s'],
    [0.4, '0s'],
    [250, '250ms'],
    [1500, '1.5s'],
    [90_000, '1m30s'],
    [5_400_000, '1h30m'],
    [86_400_000, '1d'],
  ])('of %d ms is shown as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  test('is read back as it is shown', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: MAX_DURATION_MS }),
        (ms) => parseDuration(formatDuration(ms)) === ms,
      ),
    );
  });
});
