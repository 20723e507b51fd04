import { expect, test } from 'vitest';
import { normaliseBreaker } from '../../src/domain/breaker.ts';

test('text says what an object says, and the probe comes after 30 s unless told', () => {
  const stored = { failures: 5, within_ms: 60_000, probe_after_ms: 30_000 };
  expect(normaliseBreaker('5/1m')).toEqual(stored);
  expect(normaliseBreaker(' 5 / PT1M ')).toEqual(stored);
  expect(normaliseBreaker({ failures: 5, within: 60_000, probeAfter: '30s' })).toEqual(stored);
  expect(normaliseBreaker({ failures: 1000, within: '1ms', probeAfter: 'none' })).toEqual({
    failures: 1000,
    within_ms: 1,
    probe_after_ms: 'none',
  });
});

test.each([
  ['5', 'breaker "5": expected failures/duration such as 5/1m'],
  ['/1m', 'breaker "/1m": expected failures/duration such as 5/1m'],
  ['5/soon', 'breaker within "soon"'],
  ['5/0s', 'breaker within "0s": expected more than 0'],
  ['0/1m', 'breaker failures 0: expected a whole number from 1 to 1000'],
  ['1001/1m', 'breaker failures 1001: expected a whole number from 1 to 1000'],
  [5, 'breaker 5: expected text such as 5/1m'],
  [null, 'breaker null: expected text such as 5/1m'],
  [[5], 'breaker [5]: expected text such as 5/1m'],
  [{ within: '1m' }, 'breaker failures undefined: expected a whole number'],
  [{ failures: 1.5, within: '1m' }, 'breaker failures 1.5: expected a whole number'],
  [{ failures: 5 }, 'breaker within undefined'],
  [{ failures: 5, within: '1m', probeAfter: 0 }, 'breaker probeAfter 0: expected more than 0'],
  [{ failures: 5, within: '1m', probeAfter: 'never' }, 'breaker probeAfter "never"'],
  [{ failures: 5, within: '1m', probe: '1m' }, 'unknown key "probe"'],
])('%j is refused, in one line', (input, why) => {
  expect(() => normaliseBreaker(input)).toThrow(
    expect.objectContaining({ exitCode: 2, message: expect.stringContaining(why) }),
  );
});
