import { expect, test } from 'vitest';
import { depthsBy } from '../../../src/ui/lib/depth.ts';

const PAIR = { created: 0, revived: 0, ended: {}, attempts: {} };

const STATS = {
  ...{ sampledAt: '2026-01-01T00:00:00Z', ageMs: 0, boundsMs: [], workers: null, unhandledTypes: [] },
  pairs: [
    {
      ...{ ...PAIR, queue: 'mail', type: 'send', due: 2, oldestAt: '2026-01-01T00:00:02Z' },
      counts: { blocked: 1, pending: 2, leased: 3, running: 4, dead: 5 },
    },
    {
      ...{ ...PAIR, queue: 'mail', type: 'read', due: 1, oldestAt: '2026-01-01T00:00:01Z' },
      counts: { pending: 10 },
    },
  ],
};

test('figures are summed up by queue and by type', () => {
  const oldestAt = '2026-01-01T00:00:01Z';
  expect(depthsBy('queue', STATS).of('mail')).toEqual({
    waiting: 13,
    due: 3,
    running: 7,
    dead: 5,
    oldestAt,
  });
  expect(depthsBy('type', STATS).of('read')).toMatchObject({ waiting: 10, running: 0, dead: 0 });
});

test('a queue without a task has zeros; without a sample nothing is known', () => {
  expect(depthsBy('queue', STATS).of('empty')).toMatchObject({ waiting: 0, oldestAt: null });
  expect(depthsBy('queue', null).of('mail')).toBeUndefined();
});
