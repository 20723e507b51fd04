import { expect, test } from 'vitest';
import { enqueue, enqueueSome, finishedRow, refuseChanges, refuseTask, statusOf } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

function overdue(ids: readonly string[]): Promise<unknown> {
  return queue.admin.rows(
    "update taskq.tasks set expires_at = clock_timestamp() - interval '1 ms' where id = any ($1)",
    ids,
  );
}

test('what was not started in time ends as expired', async () => {
  const [late, inTime] = await enqueueSome(queue.admin, 2, { expires_ms: 60_000 });
  await overdue([late!]);
  expect(await queue.admin.value('select ended from taskq.expire(1000)')).toBe(1);
  expect(await finishedRow(queue.admin, late!)).toMatchObject({
    status: 'expired',
    started_at: null,
    cancel_requested_at: null,
  });
  expect(await statusOf(queue.admin, inTime!)).toBe('pending');
});

test('a held task, and one that has started once, never expire', async () => {
  const [held, ahead, retried, snoozed] = await enqueueSome(queue.admin, 4, { expires_ms: 60_000 });
  const worker = await registerWorker(queue.admin);
  const tasks = [
    await claimOne(worker),
    await claimOne(worker, { ahead: 1 }),
    await claimOne(worker),
    await claimOne(worker),
  ];
  await worker.settle(
    outcome(tasks[2]!, 'failed', { delay_ms: 60_000 }),
    outcome(tasks[3]!, 'snoozed', { delay_ms: 60_000 }),
  );
  await overdue([held!, ahead!, retried!, snoozed!]);
  expect(await queue.admin.value('select ended from taskq.expire(1000)')).toBe(0);
});

test('one that was claimed ahead, given back and never started expires', async () => {
  const id = await enqueue(queue.admin, { expires_ms: 60_000 });
  const worker = await registerWorker(queue.admin);
  await worker.giveBack([await claimOne(worker, { ahead: 1 })], false);
  await overdue([id]);
  expect(await queue.admin.value('select ended from taskq.expire(1000)')).toBe(1);
});

test('in pages, the oldest first, past what another transaction has locked', async () => {
  const ids = await enqueueSome(queue.admin, 5, { expires_ms: 60_000 });
  await queue.admin.rows(
    "update taskq.tasks set expires_at = created_at - (6 + id - $1) * interval '1 s'",
    Number(ids[0]),
  );
  const other = await queue.session();
  await other.rows('begin');
  await other.rows("update taskq.tasks set tags = '{}' where id = $1", ids[4]);
  expect(await queue.admin.value('select ended from taskq.expire(2)')).toBe(2);
  const left = await queue.admin.rows<{ id: string }>('select id from taskq.tasks order by id');
  expect(left.map((row) => row.id)).toEqual([ids[0], ids[1], ids[4]]);
  await other.rows('commit');
  expect(await queue.admin.value('select ended from taskq.expire(9)')).toBe(3);
});

test('one that a trigger refuses takes no place in a page from those behind it', async () => {
  const ids = await enqueueSome(queue.admin, 5, { expires_ms: 60_000 });
  await overdue(ids);
  await refuseTask(queue.admin, 'finished_tasks', ids[0]!);
  expect(await queue.admin.value('select ended from taskq.expire(2)')).toBe(2);
  expect(await queue.admin.value('select ended from taskq.expire(2)')).toBe(2);
  expect(await queue.admin.value('select ended from taskq.expire(2)')).toBe(0);
  expect(await statusOf(queue.admin, ids[0]!)).toBe('pending');
});

test('nor does one that a trigger refuses only at the commit', async () => {
  const ids = await enqueueSome(queue.admin, 5, { expires_ms: 60_000 });
  await overdue(ids);
  await refuseChanges(queue.admin, 'create constraint trigger', `old.id = ${ids[0]}`);
  expect(await queue.admin.value('select ended from taskq.expire(9)')).toBe(4);
  expect(await statusOf(queue.admin, ids[0]!)).toBe('pending');
});

test('a task that no claim takes expires, whatever its attempts', async () => {
  const id = await enqueue(queue.admin, { expires_ms: 60_000 });
  await queue.admin.rows('update taskq.tasks set attempts = 1 where id = $1', id);
  await overdue([id]);
  const worker = await registerWorker(queue.admin);
  expect(await worker.claim()).toEqual([]);
  expect(await queue.admin.value('select ended from taskq.expire(1000)')).toBe(1);
  expect(await statusOf(queue.admin, id)).toBe('expired');
});

test('an error of the server itself ends the page instead of being counted against its tasks', async () => {
  const ids = await enqueueSome(queue.admin, 2, { expires_ms: 60_000 });
  await overdue(ids);
  await queue.admin.client.query(`
    create function public.fill_disk() returns trigger language plpgsql as
      $$ begin raise exception 'no space left on device' using errcode = 'disk_full'; end $$;
    create trigger fill_disk before insert on taskq.finished_tasks for each row execute function public.fill_disk();
  `);
  try {
    await expect(queue.admin.rows('select * from taskq.expire(1000)')).rejects.toMatchObject({
      code: '53100',
    });
  } finally {
    await queue.admin.client.query(
      'drop trigger fill_disk on taskq.finished_tasks; drop function public.fill_disk()',
    );
  }
});
