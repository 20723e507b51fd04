import { expect, test } from 'vitest';
import { type Database, openDatabase } from '../../../src/lib/database.ts';
import { claim } from '../../../src/queue/protocol/claim.ts';
import { enqueue, enqueueSome, lapse, liveRow, rescueAll } from '../rows.ts';
import { type Session, useDatabase } from '../session.ts';
import { waitUntil } from '../waiting.ts';
import { claimOne, LEASE_MS, outcome, type PlainWorker, registerWorker, workerOf } from '../worker.ts';

const queue = useDatabase();

/** Lets a worker execute and commit something and never hear the answer: its socket is cut once `isDone`. */
async function loseAnswer(
  of: PlainWorker,
  what: (worker: PlainWorker) => Promise<unknown>,
  isDone: () => Promise<boolean>,
): Promise<void> {
  const { client } = of.session;
  const { stream } = (client as unknown as { connection: { stream: { pause(): void; destroy(): void } } })
    .connection;
  stream.pause();
  const answer = what(of);
  const lost = expect(answer).rejects.toThrow();
  await waitUntil(isDone, 'it was not done');
  stream.destroy();
  await lost;
}

async function sameWorkerElsewhere(worker: PlainWorker): Promise<PlainWorker> {
  return workerOf(await queue.session(), worker.id);
}

test.each([
  ['completed', 'finished_tasks', 'completed'],
  ['cancelled', 'finished_tasks', 'cancelled'],
  ['failed', 'task_errors', 'pending'],
  ['dead', 'dead_tasks', 'dead'],
])(
  'a %s outcome whose answer was lost is answered "already" when sent again',
  async (kind, table, status) => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(await queue.session());
    const task = await claimOne(worker);
    const settlement = outcome(task, kind, { error: { message: 'once' }, reason: 'once' });
    const isDone = () => queue.admin.value<boolean>(`select exists (select from taskq.${table})`);
    await loseAnswer(worker, (it) => it.settle(settlement), isDone);
    const before = await queue.admin.rows('select * from taskq.all_tasks');
    const again = await sameWorkerElsewhere(worker);
    for (let n = 0; n < 3; n++)
      expect(await again.settle(settlement)).toMatchObject([{ id, answer: 'already', extra: { status } }]);
    expect(await queue.admin.rows('select * from taskq.all_tasks')).toEqual(before);
    expect(await queue.admin.value('select count(*)::int from taskq.task_errors')).toBe(
      ['failed', 'dead'].includes(kind) ? 1 : 0,
    );
  },
);

test('a repeat that comes after the task runs again is lost: the new lease alone may write', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  const settlement = outcome(await claimOne(worker), 'failed', { delay_ms: 0 });
  await worker.settle(settlement);
  const again = await claimOne(worker);
  expect(await worker.settle(settlement)).toMatchObject([{ answer: 'lost' }]);
  expect(await liveRow(queue.admin, id)).toMatchObject({
    lease_no: again.lease_no,
    attempts: 1,
    status: 'running',
  });
});

/** Waits for a connection: the deadline of a statement is one for making it too, which must not fail here. */
function isConnectedTo(database: Database): Promise<void> {
  const isConnected = () =>
    database.query({ text: 'select 1' }).then(
      () => true,
      () => false,
    );
  return waitUntil(isConnected, 'there is no connection');
}

/** What a claim took without the worker knowing comes back by the worker's own rescue, once its leases end. */
async function expectOwnRescue(
  worker: { readonly id: number },
  ids: readonly string[],
  known: readonly string[],
): Promise<void> {
  const rescuer = await queue.session();
  expect(await rescueAll(rescuer, worker.id, known)).toEqual([]);
  await lapse(queue.admin, [...ids, ...known]);
  await queue.admin.rows(
    "update taskq.rescue_scan set started_at = clock_timestamp() - interval '5001 ms', finished_at = clock_timestamp(), cost_ms = 1e6",
  );
  const isDue = 'select blocks is not null from taskq.begin_rescue($1)';
  expect(await rescuer.value(isDue, false)).toBe(false);
  expect(await rescuer.value(isDue, true)).toBe(true);
  const rescued = await rescueAll(rescuer, worker.id, known);
  expect(rescued.map((task) => task.id)).toEqual(ids);
  for (const id of ids)
    expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'pending', attempts: 0 });
}

test('tasks of a claim whose answer was lost come back by the own rescue, the known ones stay', async () => {
  const known = await enqueue(queue.admin, { priority: 0 });
  const ids = await enqueueSome(queue.admin, 5);
  const worker = await registerWorker(await queue.session());
  await claimOne(worker);
  const isDone = () =>
    queue.admin.value<boolean>('select count(*) = 6 from taskq.tasks where lease_owner = $1', worker.id);
  await loseAnswer(worker, (it) => it.claim({ start: 2, ahead: 3 }), isDone);
  await expectOwnRescue(worker, ids, [known]);
});

test('tasks of a claim that its worker gave up on, but that succeeded, come back too', async () => {
  const ids = await enqueueSome(queue.admin, 3);
  const worker = await registerWorker(queue.admin);
  // However late the lock is released below: the claim is to go through.
  await queue.admin.rows("alter function taskq.claim set lock_timeout = '1min'");
  const hostile = await queue.session();
  await hostile.rows('begin');
  await hostile.rows('lock table taskq.tasks in access exclusive mode');
  const database = openDatabase({
    databaseUrl: queue.url,
    maxConnections: 1,
    applicationName: 'patient',
    deadlineMs: 300,
  });
  await isConnectedTo(database);
  const request = {
    worker: { id: worker.id, types: ['work'], leaseMs: LEASE_MS },
    queues: ['default'],
    room: { start: 3, ahead: 0 },
    from: { cursor: null, lookBackMs: null },
  };
  await expect(claim(database, request)).rejects.toMatchObject({ code: 'deadline_passed' });
  await hostile.rows('commit');
  const isDone = () =>
    queue.admin.value<boolean>('select count(*) = 3 from taskq.tasks where lease_owner = $1', worker.id);
  await waitUntil(isDone, 'the claim did not go through');
  await expectOwnRescue(worker, ids, []);
  await database.close();
});

test('an answer that came while this process stood still is no lost one', async () => {
  const database = openDatabase({
    databaseUrl: queue.url,
    maxConnections: 1,
    applicationName: 'patient',
    deadlineMs: 1000,
  });
  await isConnectedTo(database);
  const answer = database.query({ text: "select 'here' as answer" });
  await new Promise((resolve) => setImmediate(resolve)); // it is sent
  for (const until = performance.now() + 1800; performance.now() < until; );
  expect(await answer).toEqual([{ answer: 'here' }]);
  await database.close();
});

test('a claim that the server ended for its time limit has claimed nothing', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(await queue.session());
  const hostile: Session = await queue.session();
  await hostile.rows('begin');
  await hostile.rows('lock table taskq.tasks in access exclusive mode');
  await worker.session.rows("set statement_timeout = '50ms'");
  await expect(worker.claim()).rejects.toMatchObject({ code: '57014' });
  await hostile.rows('rollback');
  expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'pending', lease_no: 0 });
  await worker.session.rows('reset statement_timeout');
  expect(await worker.claim()).toMatchObject([{ id }]);
});
