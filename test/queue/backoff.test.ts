import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { BackoffKind, StoredBackoff } from '../../src/domain/backoff.ts';
import { backoffDelayMs } from '../domain/backoff-delay-ms.ts';
import { useDatabase } from './session.ts';

const queue = useDatabase();
const MOST_MS = 3_155_760_000_000;

const durationMs = fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 0, max: MOST_MS }));
const factor = fc.oneof(
  fc.constantFrom(1, 1.00001, 1.01, 1.5, 2, 3, 10, 100),
  fc.double({ min: 1, max: 100, noNaN: true }),
);
const share = fc.oneof(fc.constantFrom(0, 0.2, 1), fc.double({ min: 1e-9, max: 1, noNaN: true }));
const failures = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.integer({ min: 1, max: 1_000_000 }),
  fc.constant(1_000_000),
);

const policy: fc.Arbitrary<StoredBackoff> = fc
  .tuple(
    fc.constantFrom<BackoffKind[]>('fixed', 'linear', 'quadratic', 'exponential'),
    durationMs,
    durationMs,
    factor,
    share,
  )
  .map(([kind, a, b, grows, jitter]) => ({
    kind,
    base_ms: Math.min(a, b),
    max_ms: Math.max(a, b),
    factor: kind === 'exponential' ? grows : 1,
    jitter,
  }));

test('TypeScript and SQL compute the same delay after every failure, up to the millionth', async () => {
  const cases = fc.sample(
    fc.record({ policy, failures, random: fc.double({ min: 1e-9, max: 1, noNaN: true, maxExcluded: true }) }),
    {
      numRuns: 2000,
      seed: 20_260_801,
    },
  );
  const rows = await queue.admin.rows<{ ms: string }>(
    `select taskq.backoff_delay_ms(c -> 'policy', (c ->> 'failures')::int, (c ->> 'random')::float8) as ms
     from jsonb_array_elements($1) with ordinality as of_case (c, place) order by place`,
    JSON.stringify(cases),
  );
  const differing = cases.flatMap((of, place) => {
    const ours = backoffDelayMs(of.policy, of.failures, of.random);
    const theirs = Number(rows[place]!.ms);
    return ours === theirs ? [] : [{ ...of, ours, theirs }];
  });
  expect(differing).toEqual([]);
});

test('a policy that says little waits 5 seconds, and does not wait forever', async () => {
  for (const backoff of [{}, { kind: 'fixed' }, { kind: 'exponential', factor: 3 }, { kind: 'unheard of' }]) {
    expect(await queue.admin.value('select taskq.backoff_delay_ms($1, 1, 0.5)', backoff)).toBe('5000');
  }
});

test('no wait is negative or longer than the longest', async () => {
  const strange = [
    { kind: 'exponential', base_ms: MOST_MS, factor: 100, max_ms: MOST_MS, jitter: 1 },
    { kind: 'exponential', base_ms: 0, factor: 100 },
    { kind: 'exponential', base_ms: 3_600_000, factor: 2 },
    { kind: 'exponential', base_ms: 5000, factor: 1 },
    { kind: 'quadratic', base_ms: MOST_MS },
    { kind: 'fixed', base_ms: Number.MIN_VALUE, jitter: Number.MIN_VALUE, max_ms: Number.MIN_VALUE },
    { kind: 'linear', base_ms: 1e-300, jitter: 1e-300 },
  ];
  const least = `{"base_ms": 1e-400, "max_ms": 1e-400, "jitter": 1e-400, "factor": 1e-400}`;
  expect(await queue.admin.value('select taskq.backoff_delay_ms($1, 1, 0.5)', least)).toBe('0');
  for (const backoff of strange) {
    for (const n of [0, 1, 1010, 1100, 1_000_000, 2_147_483_647]) {
      const ms = Number(await queue.admin.value('select taskq.backoff_delay_ms($1, $2, 0.999)', backoff, n));
      expect(ms).toBeGreaterThanOrEqual(0);
      expect(ms).toBeLessThanOrEqual(MOST_MS);
    }
  }
});

test.each([
  ['none', null],
  ['1d', '2024-02-29'],
  ['60d', '2024-04-28'],
  ['61d', '2024-05-01'],
  ['62d', '2024-05-01'],
  ['63d', '2024-05-01'],
  ['64d', '2024-06-01'],
  ['365d', '2025-03-01'],
  ['700d', '2026-02-01'],
  ['701d', '2026-02-01'],
  ['99999d', '2298-01-01'],
  ['ever', 'infinity'],
])('what ended on 28 February 2024 and is kept for %s may be dropped after %s', async (retention, last) => {
  // An hour that is another day in most time zones.
  for (const at of ['2024-02-28T00:00:00Z', '2024-02-28T23:59:59.999999Z']) {
    for (const zone of ['UTC', 'Pacific/Kiritimati', 'America/Los_Angeles']) {
      await queue.admin.rows(`set time zone '${zone}'`);
      expect(await queue.admin.value('select taskq.drop_on($1, $2)::text', retention, at)).toBe(last);
    }
  }
  await queue.admin.rows('reset time zone');
});

test('nothing is dropped before its days are over, whatever the day and the retention', async () => {
  const early = `
    select count(*)::int
    from generate_series(timestamptz '2023-12-25 12:00Z', '2025-03-05 12:00Z', interval '1 day') as ended,
      generate_series(1, 700) as days
    where taskq.drop_on(days || 'd', ended) < (ended at time zone 'UTC')::date + days
      or taskq.drop_on(days || 'd', ended) > (ended at time zone 'UTC')::date + days + 31`;
  expect(await queue.admin.value(early)).toBe(0);
});
