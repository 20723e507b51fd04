import { expect, test } from 'vitest';
import { figuresOf, ratesOf, recorded } from '../../../src/ui/lib/figures.ts';
import type { Stats, StatsPair } from '../../../src/ui/lib/stats.ts';

const pairOf = (queue: string, type: string, more: Partial<StatsPair> = {}): StatsPair => ({
  ...{ queue, type, counts: {}, due: 0, oldestAt: null, created: 0, revived: 0, ended: {}, attempts: {} },
  ...more,
});
const statsOf = (pairs: readonly StatsPair[], sampledAt = '2026-01-01T00:00:00Z'): Stats => ({
  ...{ sampledAt, ageMs: 0, boundsMs: [], pairs, workers: null, unhandledTypes: [] },
});

test('the types of a queue are counted together, and a queue without a task is there', () => {
  const stats = statsOf([
    pairOf('mail', 'a', { counts: { pending: 2, dead: 1 }, due: 1, oldestAt: '2026-01-01T00:00:09Z' }),
    pairOf('mail', 'b', { counts: { pending: 3 }, due: 3, oldestAt: '2026-01-01T00:00:05Z' }),
  ]);
  const counts = { blocked: 0, leased: 0, running: 0 };
  expect(figuresOf(stats, new Map([['mail', 4]]), ['idle', 'mail'])).toEqual([
    { queue: 'idle', counts: { ...counts, pending: 0, dead: 0 }, due: 0, oldestAt: null, rate: null },
    {
      queue: 'mail',
      counts: { ...counts, pending: 5, dead: 1 },
      due: 4,
      oldestAt: '2026-01-01T00:00:05Z',
      rate: 4,
    },
  ]);
});

test('a rate is known from the second sample on, over five minutes at most', () => {
  const done = (completed: number) => [pairOf('mail', 'a', { ended: { completed } })];
  const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString();
  let history = recorded([], statsOf(done(100), at(0)));
  expect(ratesOf(history).size).toBe(0);
  history = recorded(recorded(history, statsOf(done(110), at(1))), statsOf(done(110), at(1)));
  expect(ratesOf(history).get('mail')).toBe(10);
  history = recorded(history, statsOf(done(170), at(6)));
  expect(ratesOf(history).get('mail')).toBe(12);
  history = recorded(history, statsOf(done(3), at(7)));
  expect(ratesOf(history).get('mail')).toBe(0);
});
