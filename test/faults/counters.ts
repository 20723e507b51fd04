import type pg from 'pg';
import {
  type Chaos,
  cancelSome,
  enqueueBulk,
  type Find,
  numberOf,
  oneOf,
  type Reach,
  runChaos,
  upTo,
  witnessTask,
} from './chaos.ts';
import type { Found, Testbed } from './scenario.ts';

const PRODUCERS = 3;

/**
 * Tasks are enqueued in bulks and one by one, cancelled, replaced and revived, in transactions that stay open and may be
 * rolled back; whoever folds their counts is ended before the commit. At the end the sums by minute, by day and in all
 * are what the witnesses and the history have.
 */
export function counters(testbed: Testbed, seconds: number): Promise<Found> {
  return runChaos(testbed, seconds, CHAOS);
}

const CHAOS: Chaos = {
  prepare: async (client) => {
    // Whatever is revived and dies again has died twice.
    await client.query('create table witness.revived (task_id bigint)');
  },
  acts: [
    ...Array.from({ length: PRODUCERS }, () => [40, produce] as const),
    [30, enqueueKeyed],
    [200, cancelSome],
    [150, reviveSome],
    [50, fold],
    [200, foldInVain],
    [150, killFolder],
  ],
  toReach: ['cancels', 'revived', 'folds', 'folds undone', 'killed folders', 'replaced'],
  notToReach: [],
  check,
};

function produce(client: pg.Client, reach: Reach): Promise<void> {
  const tasks = Array.from({ length: 1 + upTo(20) }, witnessTask);
  return enqueueBulk(client, reach, { queue: oneOf(['default', 'other']), tasks });
}

/** Enqueues one task, whose key may be held. */
async function enqueueKeyed(client: pg.Client, reach: Reach): Promise<void> {
  const { payload } = witnessTask();
  const options = { queue: 'keyed', key: `k${upTo(3)}`, on_held: oneOf(['ignore', 'replace']) };
  const { rows } = await client.query<{ answer: string | null }>(
    "select extra ->> 'answer' as answer from taskq.enqueue('witness', $1, $2)",
    [payload, options],
  );
  if (rows[0]?.answer === 'replaced') reach('replaced');
}

async function reviveSome(client: pg.Client, reach: Reach): Promise<void> {
  const { rowCount } = await client.query(
    `insert into witness.revived
     select r.id from taskq.revive(array(select id from taskq.dead_tasks order by random() limit 2)) as r
     where r.answer = 'revived'`,
  );
  reach('revived', rowCount ?? 0);
}

async function fold(client: pg.Client, reach: Reach): Promise<void> {
  if ((await numberOf(client, `select taskq.fold_counts(${1 + upTo(50)})`)) > 0) reach('folds');
}

async function foldInVain(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('begin');
  const folded = await numberOf(client, 'select taskq.fold_counts()');
  await client.query('rollback');
  if (folded > 0) reach('folds undone');
}

/** Folds, and loses its connection before the commit. */
async function killFolder(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('begin');
  if ((await numberOf(client, 'select taskq.fold_counts()')) > 0) reach('killed folders');
  await client.query('select pg_terminate_backend(pg_backend_pid())');
}

async function check(_: pg.Client, find: Find): Promise<void> {
  await find(
    'queues that created another number of tasks than the witness has',
    `select queue, m.created, e.tasks
     from (select queue, created from taskq.metrics where span = 'all' and type = 'witness') as m
     full join (select queue, count(*) as tasks from witness.enqueued group by 1) as e using (queue)
     where queue <> 'keyed' and m.created is distinct from e.tasks`,
  );
  await find(
    'counts that differ from the history',
    `select sums.* , kept.*
     from (
       select sum(succeeded) as succeeded, sum(failed) as failed, sum(lost) as lost, sum(revived) as revived,
         sum(cancelled) as cancelled, sum(dead) as dead
       from taskq.metrics where span = 'all'
     ) as sums
     cross join (
       select
         (select count(*) from taskq.finished_tasks where status = 'completed') as completions,
         (select count(*) from taskq.task_errors where outcome in ('failed', 'dead')) as failures,
         (select count(*) from taskq.task_errors where outcome = 'lost') as losses,
         (select count(*) from witness.revived) as revivals,
         (select count(*) from taskq.finished_tasks where status = 'cancelled') as cancels,
         (select count(*) from taskq.dead_tasks) as deaths
     ) as kept
     where (succeeded, failed, lost, revived, cancelled, dead)
       is distinct from (completions, failures, losses, revivals, cancels, deaths + revivals)`,
  );
  await find(
    'spans whose sums differ',
    `select span, sum(created) as created, sum(completed) as completed, sum(wait_ms) as wait_ms, sum(run_ms) as run_ms
     from taskq.metrics group by span
     having array[sum(created), sum(completed), sum(wait_ms), sum(run_ms)] is distinct from (
       select array[sum(created), sum(completed), sum(wait_ms), sum(run_ms)] from taskq.metrics where span = 'all'
     )`,
  );
  await find(
    'attempts that no bucket has',
    `select span, since, queue, type from taskq.metrics m
     where succeeded + failed + snoozed <> all (array[
       (select sum(n) from unnest(waits) as n), (select sum(n) from unnest(runs) as n)
     ])`,
  );
}
