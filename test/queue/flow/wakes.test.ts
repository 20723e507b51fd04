import { expect, test } from 'vitest';
import { listenTo } from '../listening.ts';
import { waitUntil } from '../waiting.ts';
import type { Claimed, ClaimOptions, PlainWorker } from '../worker.ts';
import { claimSteps, insertWorkflow, settleAll, useWorkflows } from './workflows.ts';

const { queue, worker, claimed, workflow } = useWorkflows();

const pair = [{ step: 'a' }, { step: 'b', after: ['a'], task: { queue: 'other' } }];

/** Lets a worker sleep that serves these queues. */
async function sleeper(queues: readonly string[]) {
  const by = await worker();
  const doze = () =>
    by.session.row<{ due_ms: number | null }>(
      'select due_ms from taskq.mark_idle($1, $2, 60000)',
      by.id,
      queues,
    );
  await doze();
  return { by, doze };
}

const queuesOf = (received: readonly string[]) => received.map((hint) => JSON.parse(hint).queue as string);

test('the end of a step wakes a worker of any queue to attend to it, and that claim wakes those of the child', async () => {
  await insertWorkflow(queue.admin, pair);
  const me = await worker();
  const tasks = await claimSteps(me);
  await sleeper(['other']);
  const { by } = await sleeper(['third']);
  const wakes = await listenTo(queue, 'taskq_wake');
  await settleAll(me, tasks);
  await wakes.untilReceived();
  expect(wakes.received).toHaveLength(1);
  wakes.received.length = 0;
  expect(await by.claim({ queues: ['third'] })).toEqual([]);
  await wakes.untilReceived();
  expect(queuesOf(wakes.received)).toEqual(['other']);
});

/** Completes these as a worker that claims at once. */
async function completeAndClaim(by: PlainWorker, tasks: readonly Claimed[], options: ClaimOptions) {
  const leases = [tasks.map(({ id }) => id), tasks.map(({ lease_no }) => lease_no)];
  await by.session.rows(
    `select from taskq.complete($1, $2, $3, options => '{"will_claim": true}')`,
    by.id,
    ...leases,
  );
  return by.claim(options);
}

/** The queues for which workers were woken since the last call. */
async function wokenFor(wakes: Awaited<ReturnType<typeof listenTo>>) {
  await queue.admin.rows("select pg_notify('taskq_wake', 'mark')");
  await waitUntil(async () => wakes.received.includes('mark'), 'the mark did not come');
  return queuesOf(wakes.received.splice(0).filter((hint) => hint !== 'mark'));
}

const CHAIN = [
  { step: 'a' },
  { step: 'b', after: ['a'] },
  { step: 'c', after: ['b'] },
  { step: 'd', after: ['b'] },
  { step: 'e', after: ['c', 'd'], type: 'rare' },
];

test('a worker that claims at once after the end of a step wakes others only for steps that it leaves', async () => {
  await insertWorkflow(queue.admin, CHAIN);
  const me = await worker();
  await sleeper(['default']);
  const wakes = await listenTo(queue, 'taskq_wake');
  const b = await completeAndClaim(me, await claimSteps(me), { start: 1 });
  expect(await wokenFor(wakes)).toEqual([]);
  const c = await completeAndClaim(me, b, { start: 1 });
  expect(c).toHaveLength(1);
  expect(await wokenFor(wakes)).toEqual(['default']);
  const d = await completeAndClaim(me, c, { start: 1 });
  expect(await wokenFor(wakes)).toEqual([]);
  expect(await completeAndClaim(me, d, { start: 1 })).toEqual([]);
  expect(await wokenFor(wakes)).toEqual(['default']);
  expect(await me.claim({ types: ['rare'] })).toHaveLength(1);
});

test('a worker that has no room after all, or is paused, attends and wakes others for the steps', async () => {
  await insertWorkflow(queue.admin, CHAIN);
  const me = await worker();
  await sleeper(['default']);
  const wakes = await listenTo(queue, 'taskq_wake');
  expect(await completeAndClaim(me, await claimSteps(me), { start: 0 })).toEqual([]);
  expect(await wokenFor(wakes)).toEqual(['default']);
  const b = await claimSteps(me);
  await queue.admin.rows('select taskq.pause_worker($1)', me.id);
  expect(await completeAndClaim(me, b, { start: 5 })).toEqual([]);
  expect(await wokenFor(wakes)).toEqual(['default']);
});

test('a worker that has no room for more, while another one has the workflow, wakes others to attend to it', async () => {
  const id = await insertWorkflow(queue.admin, CHAIN);
  const me = await worker();
  await sleeper(['third']);
  const wakes = await listenTo(queue, 'taskq_wake');
  const tasks = await claimSteps(me);
  const other = await queue.session();
  await other.rows('begin');
  await other.rows('select from taskq.workflows where id = $1 for no key update', id);
  expect(await completeAndClaim(me, tasks, { start: 5 })).toEqual([]);
  expect(await wokenFor(wakes)).toEqual([]);
  expect(await me.claim({ start: 0 })).toEqual([]);
  expect(await wokenFor(wakes)).toEqual(['third']);
  await other.rows('rollback');
  expect(await claimSteps(me)).toHaveLength(1);
});

test('a worker that falls asleep sees what was asked for just before', async () => {
  await insertWorkflow(queue.admin, pair);
  const me = await worker();
  const { doze } = await sleeper(['other']);
  await settleAll(me, await claimSteps(me));
  const { due_ms } = (await doze())!;
  expect(due_ms).toBeGreaterThan(0);
  expect(due_ms).toBeLessThanOrEqual(50);
  await claimed(me);
  expect((await doze())!.due_ms).toBeNull();
});

test('a worker that runs until nothing is left attends to the end of the last step', async () => {
  const id = await insertWorkflow(queue.admin, [{ step: 'a' }]);
  const me = await worker();
  const unfinished = () =>
    queue.admin.row(
      "select unfinished::integer, next_due_ms <= 0 as is_due from taskq.count_unfinished('{work}')",
    );
  await settleAll(me, await claimSteps(me));
  expect(await unfinished()).toEqual({ unfinished: 1, is_due: true });
  expect(await me.claim({ queues: [] })).toEqual([]);
  expect(await unfinished()).toEqual({ unfinished: 0, is_due: null });
  expect(await workflow(id)).toMatchObject({ state: 'completed' });
});

test('a sweep finds what was asked for by a transaction that committed late', async () => {
  await insertWorkflow(queue.admin, pair);
  const me = await worker();
  await settleAll(me, await claimSteps(me));
  const us = Number(await queue.admin.value('select taskq.epoch_us(due_at) from taskq.workflow_asks'));
  const cursor = Array.from({ length: 22 }, (_, nth) => (nth % 2 === 0 ? us + 1_000_000 : 0));
  expect(await me.claim({ queues: ['other'], cursor })).toEqual([]);
  expect(
    await queue.admin.rows(
      "select queue, priority, available_at_us from taskq.find_missed('{other}', '{work}', $1) where queue is not null",
      cursor,
    ),
  ).toEqual([{ queue: 'other', priority: 10, available_at_us: String(us) }]);
});

test('dead asks that an open snapshot holds are not read by claims with a cursor', async () => {
  const me = await worker();
  const holder = await queue.session();
  await holder.rows('begin isolation level repeatable read');
  await holder.rows('select from taskq.tasks');
  await queue.admin.rows(
    `insert into taskq.workflow_asks (due_at, workflow_id)
     select clock_timestamp() - interval '1 minute' + n * interval '1 ms', 1 from generate_series(1, 20000) as n`,
  );
  await queue.admin.rows('delete from taskq.workflow_asks');
  const cursor = Array.from({ length: 22 }, (_, nth) => (nth % 2 === 0 ? Date.now() * 1000 : 0));
  const pagesRead = async (from: readonly number[] | null) => {
    const read = () =>
      me.session.value<number>(
        `select pg_stat_get_xact_blocks_fetched(i.oid)::integer
         from pg_class i where i.oid = 'taskq.workflow_asks_pkey'::regclass`,
      );
    await me.session.rows('begin');
    const before = await read();
    await me.claim({ cursor: from, lookBackMs: from === null ? null : 2000 });
    const pages = (await read()) - before;
    await me.session.rows('rollback');
    return pages;
  };
  expect(await pagesRead(null)).toBeGreaterThan(50);
  expect(await pagesRead(cursor)).toBeLessThan(10);
});
