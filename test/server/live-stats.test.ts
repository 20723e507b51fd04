import { once } from 'node:events';
import { expect, test } from 'vitest';
import type { Queryable } from '../../src/lib/database.ts';
import { guarded } from '../../src/lib/guarded.ts';
import { LiveStats } from '../../src/server/live-stats.ts';

const db = { query: async () => [] } as unknown as Queryable;

test('a stream whose client has gone before it was opened does not count', () => {
  const live = new LiveStats({ db, report: () => {} });
  const open = () =>
    live.open({ queues: null, token: 'one', lastId: undefined, signal: AbortSignal.abort() });
  // Then it would be busy.
  for (let nth = 0; nth < 100; nth += 1) open();
  expect(open).not.toThrow();
  live.close();
});

test('an onError that throws is a warning, and changes nothing', async () => {
  const warned = once(process, 'warning');
  const report = guarded('onError', () => {
    throw new Error('the logger is away');
  });
  report(new Error('odd'));
  expect((await warned)[0]).toMatchObject({
    name: 'TaskqWarning',
    message: 'onError threw: the logger is away',
  });
});
