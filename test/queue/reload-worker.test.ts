import { expect, test } from 'vitest';
import { useDatabase } from './session.ts';
import { registerWorker } from './worker.ts';

const queue = useDatabase();

test('a worker that loaded its handlers anew is registered with them and what they say, and lends no cursor', async () => {
  await queue.admin.rows('delete from taskq.task_types');
  const worker = await registerWorker(queue.admin, { gone: {}, kept: { max_attempts: 2, timeout_ms: 100 } });
  await queue.admin.rows("update taskq.workers set cursors = '{}' where id = $1", worker.id);
  await queue.admin.rows('select taskq.reload_worker($1, $2)', worker.id, {
    kept: { max_attempts: 5 },
    fresh: { retention: 'none' },
  });
  expect(await queue.admin.rows('select types, cursors from taskq.workers')).toEqual([
    { types: ['fresh', 'kept'], cursors: null },
  ]);
  expect(
    await queue.admin.rows(
      'select name, max_attempts, timeout_ms, retention from taskq.task_types order by name',
    ),
  ).toEqual([
    { name: 'fresh', max_attempts: null, timeout_ms: null, retention: 'none' },
    { name: 'gone', max_attempts: null, timeout_ms: null, retention: null },
    { name: 'kept', max_attempts: 5, timeout_ms: null, retention: null },
  ]);
});

test('a worker whose row is gone has nothing to store, and need not ask again', async () => {
  expect(
    await queue.admin.rows('select stored from taskq.reload_worker($1, $2)', 999_999, { unheard: {} }),
  ).toEqual([{ stored: true }]);
  expect(await queue.admin.rows("select name from taskq.task_types where name = 'unheard'")).toEqual([]);
});
