import { expect, test } from 'vitest';
import { showTask } from '../../src/queue/inspect/show-task.ts';
import { addDead } from '../../src/queue/operate/add-dead.ts';
import { addTypes } from '../../src/queue/operate/add-types.ts';
import { cancel } from '../../src/queue/operate/cancel.ts';
import { setDefaults } from '../../src/queue/operate/defaults.ts';
import { discard } from '../../src/queue/operate/discard.ts';
import { releaseKey } from '../../src/queue/operate/keys.ts';
import { pauseQueue, resumeQueue } from '../../src/queue/operate/pause-queue.ts';
import { pauseWorker, resumeWorker } from '../../src/queue/operate/pause-worker.ts';
import { purge } from '../../src/queue/operate/purge.ts';
import { removeType } from '../../src/queue/operate/remove-type.ts';
import { rerun } from '../../src/queue/operate/rerun.ts';
import { retry } from '../../src/queue/operate/retry.ts';
import { revive } from '../../src/queue/operate/revive.ts';
import { setQueue } from '../../src/queue/operate/set-queue.ts';
import { setType } from '../../src/queue/operate/set-type.ts';
import { setWorker } from '../../src/queue/operate/set-worker.ts';
import { stopWorker } from '../../src/queue/operate/stop-worker.ts';
import { enqueue } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

const by = 'ann@laptop';

async function recorded(): Promise<readonly Record<string, unknown>[]> {
  const role = await queue.admin.value<string>('select session_user');
  const rows = await queue.admin.rows<Record<string, unknown>>(
    'select verb, role, by, task_ids, queue, worker, type, settings, reason from taskq.actions order by id',
  );
  return rows.map(({ role: its, ...row }) => {
    expect(its).toBe(role);
    return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null));
  });
}

test('every verb records who, when and on what: the role of the session, and beside it the name that the caller adds', async () => {
  const worker = await registerWorker(queue.admin);
  const waiting = await enqueue(queue.admin, { delay_ms: 60_000 });
  await retry(queue.admin, [waiting], { by });
  await addDead(queue.admin, waiting, 'parked', { by });
  await revive(queue.admin, [waiting], { by });
  await worker.settle(outcome(await claimOne(worker), 'dead', { reason: 'r' }));
  await discard(queue.admin, [waiting], { by });
  const other = await enqueue(queue.admin);
  await cancel(queue.admin, [other], 'not needed', { by });
  await rerun(queue.admin, [other], { by });
  await purge(queue.admin, [other], { by });
  await pauseQueue(queue.admin, 'mail', { by, reason: 'deploy', forMs: null });
  await resumeQueue(queue.admin, 'mail', { by });
  await pauseWorker(queue.admin, String(worker.id), by);
  await resumeWorker(queue.admin, String(worker.id), { by });
  await stopWorker(queue.admin, String(worker.id), by);
  const of = (verb: string, more: object) => ({ verb, by, ...more });
  expect(await recorded()).toEqual([
    of('retry', { task_ids: [waiting] }),
    of('dead add', { task_ids: [waiting], reason: 'parked' }),
    of('revive', { task_ids: [waiting] }),
    of('discard', { task_ids: [waiting] }),
    of('cancel', { task_ids: [other], reason: 'not needed' }),
    of('rerun', { task_ids: [other] }),
    of('purge', { task_ids: [other] }),
    of('pause', { queue: 'mail', reason: 'deploy' }),
    of('resume', { queue: 'mail' }),
    of('pause', { worker: worker.id }),
    of('resume', { worker: worker.id }),
    of('stop', { worker: worker.id }),
  ]);
});

test('every verb that changes a setting records its new value', async () => {
  const worker = await registerWorker(queue.admin);
  await setQueue(queue.admin, 'mail', { max_attempts: 7, timeout_ms: null }, { by });
  await addTypes(queue.admin, ['work', 'new/b', 'new/a'], { by });
  await setType(queue.admin, 'letter', { priority: 'high' }, { by });
  expect(await removeType(queue.admin, 'letter', { by })).toBe('removed');
  await setDefaults(queue.admin, { max_attempts: 9 }, { by });
  await setWorker(queue.admin, String(worker.id), { lease_ms: 60_000 }, { by });
  const id = await enqueue(queue.admin, { key: 'k', key_for: 'ever' });
  expect(await releaseKey(queue.admin, { queue: 'default', key: 'k' }, { by })).toBe('live');
  const of = (verb: string, more: object) => ({ verb, by, ...more });
  expect(await recorded()).toEqual([
    of('set', { queue: 'mail', settings: { max_attempts: 7, timeout_ms: null } }),
    of('add', { type: 'new/a' }),
    of('add', { type: 'new/b' }),
    of('add', { type: 'letter' }),
    of('set', { type: 'letter', settings: { priority: 1 } }),
    of('remove', { type: 'letter' }),
    of('set', { settings: { max_attempts: 9 } }),
    of('set', { worker: worker.id, settings: { lease_ms: 60_000 } }),
    of('release_key', { task_ids: [id], queue: 'default', reason: 'k' }),
  ]);
});

test('what a verb did to nothing is not recorded; without a name the role stands alone', async () => {
  const id = await enqueue(queue.admin);
  await revive(queue.admin, [id]);
  await discard(queue.admin, [id]);
  await purge(queue.admin, [id]);
  await rerun(queue.admin, [id]);
  await retry(queue.admin, [id, '999999999']);
  expect(await resumeQueue(queue.admin, 'never')).toBe(false);
  expect(await removeType(queue.admin, 'never')).toBe('not_known');
  expect(await setWorker(queue.admin, '2', { concurrency: 1 })).toBe(false);
  expect(await releaseKey(queue.admin, { queue: 'default', key: 'never' })).toBe('not_held');
  expect(await recorded()).toEqual([]);
  await queue.admin.rows("select taskq.pause_queue('mail')");
  expect(await recorded()).toEqual([{ verb: 'pause', queue: 'mail' }]);
  const paused = "select paused_by = session_user from taskq.list_queues() where name = 'mail'";
  expect(await queue.admin.value(paused)).toBe(true);
});

test.each(["pause_queue('mail', $1)", 'pause_worker($2, $1)', 'stop_worker($2, $1)'])(
  'an invalid name is refused with the reason: %s',
  async (call) => {
    const worker = await registerWorker(queue.admin);
    const values = call.includes('$2') ? ['', worker.id] : [''];
    await expect(queue.admin.rows(`select taskq.${call}`, ...values)).rejects.toMatchObject({
      code: '22023',
      message: expect.stringMatching(/^(pause|stop): by "": expected text of 1 to 200 characters$/),
    });
  },
);

test.each(['revive', 'rerun'])(
  '%s refuses an invalid name for all tasks, not each task for it',
  async (verb) => {
    const id = await enqueue(queue.admin);
    await (verb === 'revive' ? addDead(queue.admin, id, 'parked') : cancel(queue.admin, [id]));
    await expect(queue.admin.rows(`select taskq.${verb}($1, '{"by": ""}')`, [id])).rejects.toMatchObject({
      code: '22023',
      message: `${verb}: by "": expected text of 1 to 200 characters`,
    });
  },
);

test('it is recorded with what was done, or not at all', async () => {
  const id = await enqueue(queue.admin);
  await queue.admin.rows('begin');
  await cancel(queue.admin, [id], null, { by });
  await queue.admin.rows('rollback');
  expect(await recorded()).toEqual([]);
  await expect(cancel(queue.admin, [id], null, { by: 'x'.repeat(201) })).rejects.toThrow(
    `cancel: by "${'x'.repeat(199)}…: expected text of 1 to 200 characters`,
  );
  expect((await showTask(queue.admin, id))!.status).toBe('pending');
});

test('show has what was done to the task, oldest first, and nothing of others', async () => {
  const [id, other] = [await enqueue(queue.admin), await enqueue(queue.admin)];
  await addDead(queue.admin, id, 'parked', { by });
  await addDead(queue.admin, other, 'parked', { by });
  await revive(queue.admin, [id, other], { by: 'bob' });
  await cancel(queue.admin, [other]);
  expect((await showTask(queue.admin, id))!.actions).toMatchObject([
    { verb: 'dead add', by, reason: 'parked' },
    {
      verb: 'revive',
      by: 'bob',
      reason: null,
      role: expect.stringMatching(/./),
      at: expect.stringMatching(/^\d{4}-/),
    },
  ]);
});

test('it is kept for 90 days, and never more than a million calls', async () => {
  const kept = async () => {
    await queue.admin.rows('select taskq.maintain()');
    return queue.admin
      .rows<{ by: string }>('select by from taskq.actions order by id')
      .then((rows) => rows.map((row) => row.by));
  };
  const record = (name: string) => queue.admin.rows('select taskq.pause_queue($1, $1)', name);
  await record('old');
  await queue.admin.rows("update taskq.actions set at = at - interval '91 days'");
  await record('recent');
  await queue.admin.rows("update taskq.actions set at = at - interval '89 days' where by = 'recent'");
  expect(await kept()).toEqual(['recent']);
  await queue.admin.rows(
    "select setval('taskq.actions_id_seq', (select max(id) from taskq.actions) + 1000000)",
  );
  await record('a million later');
  await record('and one');
  expect(await kept()).toEqual(['a million later', 'and one']);
});
