import { describe, expect, test } from 'vitest';
import {
  normaliseEnqueueOptions,
  parseMaxAttempts,
  UNLIMITED_ATTEMPTS,
} from '../../src/domain/enqueue-options.ts';
import { TaskqError } from '../../src/lib/errors.ts';

test('every option is written as the database wants it', () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  expect(
    normaliseEnqueueOptions({
      queue: 'mail',
      priority: 'high',
      delay: '10m',
      maxAttempts: 'unlimited',
      timeout: 'PT30S',
      expires: '1h',
      key: 'user-5',
      keyFor: '24h',
      tags: { tenant: 'acme' },
      retention: '168h',
      backoff: { kind: 'fixed', base: '5s', jitter: 0 },
      traceparent,
    }),
  ).toEqual({
    queue: 'mail',
    priority: 1,
    delay_ms: 600_000,
    max_attempts: UNLIMITED_ATTEMPTS,
    timeout_ms: 30_000,
    expires_ms: 3_600_000,
    key: 'user-5',
    key_for: 86_400_000,
    tags: { tenant: 'acme' },
    retention: '7d',
    backoff: { kind: 'fixed', base_ms: 5000, factor: 1, max_ms: 3_600_000, jitter: 0 },
    traceparent,
  });
});

test('what is left open stays absent', () => {
  expect(normaliseEnqueueOptions({})).toEqual({});
  expect(Object.keys(normaliseEnqueueOptions({ queue: undefined, key: null }))).toEqual([]);
});

describe('the instant of at', () => {
  test.each([
    '2030-01-31T09:00:00Z',
    '2030-01-31T09:00+01:00',
    '2030-01-31 09:00:00.123456-0330',
    '2032-02-29T23:59:59.9z',
  ])('%s reaches the database as it is written', (at) => {
    expect(normaliseEnqueueOptions({ at })).toEqual({ at });
  });

  test('may be a Date', () => {
    expect(normaliseEnqueueOptions({ at: new Date(0) })).toEqual({ at: '1970-01-01T00:00:00.000Z' });
  });

  test.each(['2030-01-31T09:00:00', '2030-01-31 09:00'])('%s is refused for want of an offset', (at) => {
    expect(() => normaliseEnqueueOptions({ at })).toThrow(/expected Z or an offset at the end/);
  });

  test.each([
    'tomorrow',
    '2030-01-31',
    '2030-02-30T09:00:00Z',
    '2030-13-01T09:00:00Z',
    '2030-01-31T24:00:00Z',
    '2030-01-31T09:60:00Z',
    '2030-01-31T09:00:60Z',
    '2030-01-31T09:00:00+16:00',
    '1e3',
    5,
    new Date(Number.NaN),
  ])('%s is refused', (at) => {
    expect(() => normaliseEnqueueOptions({ at })).toThrow(/^at .*expected/);
  });
});

describe('an option is refused, by its name,', () => {
  test.each([
    [{ priorty: 1 }, 'unknown option "priorty" (did you mean "priority"?)'],
    [{ max_attempts: 1 }, 'unknown option "max_attempts" (did you mean "maxAttempts"?)'],
    [{ constructor: 1 }, 'unknown option "constructor"'],
    [JSON.parse('{"__proto__":{"a":1}}'), 'unknown option "__proto__"'],
    [{ priority: 10 }, 'priority 10: expected 0 to 9'],
    [{ delay: 'soon' }, 'delay "soon": expected a duration'],
    [{ delay: -1 }, 'delay -1: expected a duration that is not negative'],
    [{ timeout: '0s' }, 'timeout "0s": expected more than 0'],
    [{ expires: 0 }, 'expires 0: expected more than 0'],
    [{ timeout: {} }, 'timeout {}: expected a duration'],
    [{ at: new Date(Number.NaN) }, 'at Invalid Date: expected a date and time'],
    [{ delay: Number.POSITIVE_INFINITY }, 'delay Infinity'],
    [{ maxAttempts: Number.NaN }, 'maxAttempts NaN'],
    [{ delay: '1m', at: '2030-01-31T09:00:00Z' }, 'either at or delay'],
    [{ maxAttempts: 0 }, 'maxAttempts 0: expected a whole number from 1, or unlimited'],
    [{ maxAttempts: 2.5 }, 'maxAttempts 2.5'],
    [{ maxAttempts: 2 ** 31 }, 'maxAttempts 2147483648'],
    [{ maxAttempts: 'many' }, 'maxAttempts "many"'],
    [{ keyFor: '24h' }, 'keyFor needs key'],
    [{ onHeld: 'replace' }, 'onHeld "replace" needs key'],
    [
      { key: 'k', onHeld: 'replcae' },
      'onHeld "replcae": expected ignore, replace or preserve (did you mean "replace"?)',
    ],
    [{ key: 'k', keyFor: 'long' }, 'keyFor "long": expected live, ever, or a duration such as 3d'],
    [{ key: '' }, 'key "": expected at least one character'],
    [{ queue: 'a\0' }, 'queue "a\\u0000": control characters'],
    [{ tags: ['a'] }, 'tags ["a"]: expected an object'],
    [{ tags: { a: 1 } }, 'tag "a": expected a text'],
    [{ tags: { a: '\ud800' } }, 'tag "a": expected a text'],
    [{ tags: { '': 'a' } }, 'tag "": expected at least one character'],
    [{ retention: '1h' }, 'retention "1h": expected none, ever'],
    [{ traceparent: 'abc' }, 'traceparent "abc"'],
    [{ backoff: { kind: 'fixed' } }, 'backoff: base is missing'],
  ])('in %j', (options, message) => {
    expect(() => normaliseEnqueueOptions(options)).toThrow(message);
    expect(() => normaliseEnqueueOptions(options)).toThrow(TaskqError);
  });
});

test('attempts are no text, but for unlimited', () => {
  expect(() => normaliseEnqueueOptions({ maxAttempts: '5' })).toThrow(
    'maxAttempts "5": expected a whole number',
  );
  expect(parseMaxAttempts('5')).toBe(5);
});

test('tags named like parts of every object are only tags', () => {
  const { tags } = normaliseEnqueueOptions({ tags: JSON.parse('{"__proto__":"a","constructor":"b"}') });
  expect(JSON.stringify(tags)).toBe('{"__proto__":"a","constructor":"b"}');
  expect(({} as Record<string, unknown>).a).toBeUndefined();
});
