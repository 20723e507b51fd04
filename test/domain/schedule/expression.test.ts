import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseExpression } from '../../../src/domain/schedule/expression.ts';
import { nextTick } from '../../../src/domain/schedule/next-tick.ts';
import { checkedZone } from '../../../src/domain/schedule/zone.ts';
import { messageOf } from '../../../src/lib/thrown.ts';

describe('an expression', () => {
  test.each([
    ['0 2 * * *', '0 0 2 * * *'],
    [' 0  2 * *\tmon-fri ', '0 0 2 * * MON-FRI'],
    ['*/10 * * * * *', '*/10 * * * * *'],
    ['@daily', '0 0 0 * * *'],
    ['@Hourly', '0 0 * * * *'],
    ['@weekly', '0 0 0 * * 0'],
    ['@yearly', '0 0 0 1 1 *'],
    ['0 0 31 4,5 *', '0 0 0 31 4,5 *'],
    ['0 0 30 2 MON', '0 0 0 30 2 MON'],
  ])('%j has the fields %j', (text, fields) => {
    expect(parseExpression(text)).toMatchObject({ kind: 'cron', fields });
  });

  test.each([
    ['@every 90s', 90_000, '@every 1m30s'],
    ['@EVERY 1h30m', 5_400_000, '@every 1h30m'],
    ['@every 1.5s', 1500, '@every 1500ms'],
    ['@every PT10M', 600_000, '@every 10m'],
  ])('%j fires every %i ms', (text, everyMs, kept) => {
    expect(parseExpression(text)).toEqual({ kind: 'every', everyMs, text: kept });
  });

  test.each([
    ['', 'expected 5 or 6 cron fields'],
    ['* * * *', 'expected 5 or 6 cron fields'],
    ['* * * * * * *', 'expected 5 or 6 cron fields'],
    [7, 'expected 5 or 6 cron fields'],
    ['60 * * * *', 'minute "60": expected 0 to 59'],
    ['* 24 * * *', 'hour "24": expected 0 to 23'],
    ['* * 0 * *', 'day of the month "0": expected 1 to 31'],
    ['* * * 13 *', 'month "13": expected 1 to 12 or JAN to DEC'],
    ['* * * * 8', 'day of the week "8": expected 0 to 7 or SUN to SAT'],
    ['* * * * FOO', 'day of the week "FOO"'],
    ['* * * JAN-SUN *', 'month "JAN-SUN"'],
    ['5-1 * * * *', 'minute "5-1"'],
    ['5/15 * * * *', 'minute "5/15"'],
    ['*/0 * * * *', 'minute "*/0"'],
    ['*/99 * * * *', 'minute "*/99"'],
    ['1,,2 * * * *', 'minute ""'],
    ['0 0 L * *', 'day of the month "L"'],
    ['0 0 30 2 *', 'never fires: no such month has that day'],
    ['0 0 31 4,6,9,11 *', 'never fires: no such month has that day'],
    ['@dayly', 'did you mean "@daily"'],
    ['@reboot', 'expected @yearly'],
    ['@every', 'expected a duration'],
    ['@every 999ms', 'expected an interval of at least 1s'],
    ['@every 0s', 'expected an interval of at least 1s'],
    ['@every -5s', 'expected a duration'],
    ['@every 101w', 'expected a duration'],
    [`${'1,'.repeat(200)}1 * * * *`, 'expected at most 200 characters'],
  ])('%j is refused in one line', (text, problem) => {
    const refusal = refusalOf(() => parseExpression(text));
    expect(refusal).toContain(problem);
    expect(refusal).not.toContain('\n');
  });

  test('that is accepted has a tick, and croner agrees', () => {
    const field = (least: number, most: number) => {
      const value = fc.integer({ min: least, max: most });
      const range = fc
        .tuple(value, value)
        .map(([one, other]) => `${Math.min(one, other)}-${Math.max(one, other)}`);
      const step = fc.integer({ min: 1, max: most });
      const element = fc.oneof(
        fc.constant('*'),
        value.map(String),
        range,
        fc.tuple(fc.oneof(fc.constant('*'), range), step).map(([of, by]) => `${of}/${by}`),
      );
      return fc.array(element, { minLength: 1, maxLength: 3 }).map((elements) => elements.join(','));
    };
    const expressions = fc
      .tuple(field(0, 59), field(0, 59), field(0, 23), field(1, 31), field(1, 12), field(0, 7))
      .map((fields) => fields.join(' '));
    const at = Date.parse('2026-01-01T00:00:00Z');
    fc.assert(
      fc.property(expressions, (text) => {
        const refusal = refusalOf(() => parseExpression(text));
        if (refusal !== undefined) expect(refusal).toContain('never fires');
        else expect(nextTick(parseExpression(text), 'Europe/Berlin', at)).toBeGreaterThan(at);
      }),
      { numRuns: 300 },
    );
  });
});

describe('a time zone', () => {
  test.each(['UTC', 'Europe/Berlin', 'Australia/Lord_Howe', 'America/Argentina/Buenos_Aires'])(
    '%s is known',
    (zone) => expect(checkedZone(zone)).toBe(zone),
  );
  test.each(['', 'Mars/Olympus', '+05:00', 'Europe/Berlin ', "UTC'; drop", 7, null, 'x'.repeat(300)])(
    '%j is refused in one line',
    (zone) =>
      expect(refusalOf(() => checkedZone(zone, '--tz'))).toMatch(/^--tz .*: unknown time zone; expected/),
  );
});

function refusalOf(work: () => unknown): string | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
