import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Backoff, normaliseBackoff } from '../../src/domain/backoff.ts';
import { TaskqError } from '../../src/lib/errors.ts';
import { backoffDelayMs } from './backoff-delay-ms.ts';

const anyBackoff: fc.Arbitrary<Backoff> = fc
  .record({
    kind: fc.constantFrom('fixed' as const, 'linear' as const, 'quadratic' as const, 'exponential' as const),
    base: fc.integer({ min: 0, max: 10_000_000 }),
    factor: fc.double({ min: 1, max: 100, noNaN: true }),
    above: fc.integer({ min: 0, max: 10_000_000_000 }),
    jitter: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ kind, base, factor, above, jitter }) => ({
    ...{ kind, base, max: base + above, jitter },
    ...(kind === 'exponential' ? { factor } : {}),
  }));
const anyChance = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });

function delays(backoff: Backoff, count: number): number[] {
  const stored = normaliseBackoff({ jitter: 0, ...backoff });
  return Array.from({ length: count }, (_, index) => backoffDelayMs(stored, index + 1, 0.5));
}

test('text says what an object says', () => {
  const of = { kind: 'exponential', base: '5s', factor: 3, max: '1h', jitter: 0.1 } as const;
  expect(normaliseBackoff('exponential,5s,factor=3,max=1h,jitter=0.1')).toEqual(normaliseBackoff(of));
  expect(normaliseBackoff(' exponential, 5s , jitter=0.1,max=1h,factor=3')).toEqual(normaliseBackoff(of));
  expect(normaliseBackoff(JSON.stringify(of))).toEqual(normaliseBackoff(of));
  expect(normaliseBackoff('fixed,10m')).toEqual(normaliseBackoff({ kind: 'fixed', base: '10m' }));
});

test.each([
  ['fixed', 'expected a kind and a base'],
  ['often,5s', 'kind "often": expected one of fixed'],
  ['fixed,soon', 'backoff base "soon"'],
  ['fixed,5s,max', '"max": expected factor=, max= or jitter='],
  ['exponential,5s,factor=many', 'factor "many": expected a number from 1 to 100'],
  ['fixed,5s,maximum=1h', 'unknown key "maximum"'],
  ['{"kind":', 'expected JSON such as'],
])('the text %s is refused', (text, why) => {
  expect(() => normaliseBackoff(text)).toThrow(why);
});

describe('the wait after the n-th failure', () => {
  test('is always the base when fixed (S1: ten minutes forever)', () => {
    expect(delays({ kind: 'fixed', base: '10m' }, 3)).toEqual([600_000, 600_000, 600_000]);
  });

  test('grows by the base when linear', () => {
    expect(delays({ kind: 'linear', base: '5s' }, 3)).toEqual([5000, 10_000, 15_000]);
  });

  test('grows by squares when quadratic (5, 20, 45 s)', () => {
    expect(delays({ kind: 'quadratic', base: '5s' }, 3)).toEqual([5000, 20_000, 45_000]);
  });

  test('grows by the factor when exponential (S4: 5, 10, 20 s)', () => {
    expect(delays({ kind: 'exponential', base: '5s' }, 3)).toEqual([5000, 10_000, 20_000]);
    expect(delays({ kind: 'exponential', base: '1s', factor: 3 }, 4)).toEqual([1000, 3000, 9000, 27_000]);
  });

  test('is at most an hour by default', () => {
    expect(delays({ kind: 'exponential', base: '5s' }, 12).slice(9)).toEqual([
      2_560_000, 3_600_000, 3_600_000,
    ]);
    expect(delays({ kind: 'linear', base: '5s', max: '12s' }, 3)).toEqual([5000, 10_000, 12_000]);
    expect(delays({ kind: 'fixed', base: '2h' }, 1)).toEqual([7_200_000]);
  });

  test('strays by the jitter to either side', () => {
    const backoff = normaliseBackoff({ kind: 'fixed', base: '10s' });
    expect(backoffDelayMs(backoff, 1, 0)).toBe(8000);
    expect(backoffDelayMs(backoff, 1, 0.5)).toBe(10_000);
    expect(backoffDelayMs(backoff, 1, 0.9999)).toBe(11_999);
    const capped = normaliseBackoff({ kind: 'linear', base: '5s', max: '12s' });
    expect(backoffDelayMs(capped, 100, 0)).toBe(9600);
    expect(backoffDelayMs(capped, 100, 0.9999)).toBe(12_000);
  });

  test('is none forever when the base is 0', () => {
    const backoff = normaliseBackoff({ kind: 'exponential', base: 0 });
    expect([1, 2, 1_000_000].map((failures) => backoffDelayMs(backoff, failures, 0.9))).toEqual([0, 0, 0]);
  });

  test('is never above the longest nor below the jitter allows, whatever the jitter and the number of failures', () => {
    fc.assert(
      fc.property(
        anyBackoff,
        fc.integer({ min: 1, max: 1_000_000 }),
        anyChance,
        (backoff, failures, chance) => {
          const stored = normaliseBackoff(backoff);
          const delayMs = backoffDelayMs(stored, failures, chance);
          expect(Number.isInteger(delayMs)).toBe(true);
          expect(delayMs).toBeLessThanOrEqual(stored.max_ms);
          expect(delayMs).toBeGreaterThanOrEqual(Math.floor(stored.base_ms * (1 - stored.jitter)) - 1);
        },
      ),
    );
  });

  test('never shrinks with another failure', () => {
    fc.assert(
      fc.property(anyBackoff, fc.integer({ min: 1, max: 10_000 }), anyChance, (backoff, failures, chance) => {
        const stored = normaliseBackoff(backoff);
        expect(backoffDelayMs(stored, failures + 1, chance)).toBeGreaterThanOrEqual(
          backoffDelayMs(stored, failures, chance),
        );
      }),
    );
  });
});

describe('a back-off', () => {
  test('is stored with everything it leaves open', () => {
    expect(normaliseBackoff({ kind: 'exponential', base: '5s' })).toEqual({
      kind: 'exponential',
      base_ms: 5000,
      factor: 2,
      max_ms: 3_600_000,
      jitter: 0.2,
    });
    expect(normaliseBackoff({ kind: 'fixed', base: 250, max: '1s', jitter: 0 })).toEqual({
      kind: 'fixed',
      base_ms: 250,
      factor: 1,
      max_ms: 1000,
      jitter: 0,
    });
  });

  test.each([
    [null, 'expected an object such as'],
    ['5s', 'expected a kind and a base as in exponential,5s'],
    [{ kind: 'cubic', base: '5s' }, 'kind "cubic": expected one of fixed, linear, quadratic, exponential'],
    [{ base: '5s' }, 'expected one of fixed, linear'],
    [{ kind: 'fixed' }, 'base is missing'],
    [{ kind: 'fixed', base: 'soon' }, 'backoff base "soon": expected a duration'],
    [{ kind: 'fixed', base: '5s', max: '1s' }, 'max is shorter than base'],
    [{ kind: 'fixed', base: '5s', factor: 2 }, 'factor has no meaning for fixed'],
    [{ kind: 'exponential', base: '5s', factor: 0.5 }, 'factor 0.5: expected a number from 1 to 100'],
    [{ kind: 'fixed', base: '5s', jitter: 2 }, 'jitter 2: expected a number from 0 to 1'],
    [{ kind: 'fixed', base: '5s', jiter: 0 }, 'unknown key "jiter" (did you mean "jitter"?)'],
  ])('%j is refused with what was expected', (input, message) => {
    expect(() => normaliseBackoff(input)).toThrow(message);
    expect(() => normaliseBackoff(input)).toThrow(TaskqError);
  });
});
