import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import {
  type Chaos,
  cancelSome,
  enqueueBulk,
  type Find,
  type Reach,
  runChaos,
  upTo,
  witnessTask,
} from './chaos.ts';
import type { Found, Testbed } from './scenario.ts';

const PRODUCERS = 3;

/**
 * Readers follow the ends of tasks, each from the position that it has stored, in pages of any size, while tasks are
 * cancelled in transactions that stay open and may be rolled back, workers and readers are killed and the server
 * crashes. At the end each end was read at least once, none was read that is none, and no reader was told of a gap.
 */
export function events(testbed: Testbed, seconds: number): Promise<Found> {
  return runChaos(testbed, seconds, CHAOS);
}

const CHAOS: Chaos = {
  prepare: async (client) => {
    await client.query(`
      select taskq.set_queue('default', '{"record_events": true}');
      create table witness.reader (position text);
      insert into witness.reader values (null);
      create table witness.read (place bigint generated always as identity, task_id bigint, status text);
    `);
  },
  acts: [
    ...Array.from({ length: PRODUCERS }, () => [40, produce] as const),
    [100, cancelSome],
    [100, cancelOpenly],
    [20, readPage],
    [400, killReader],
  ],
  windUp: readPage,
  toReach: ['cancels', 'cancels left open', 'pages', 'late events', 'killed readers'],
  notToReach: [],
  check,
};

function produce(client: pg.Client, reach: Reach): Promise<void> {
  const tasks = Array.from({ length: 1 + upTo(10) }, witnessTask);
  return enqueueBulk(client, reach, { queue: 'default', tasks });
}

/** Ends tasks in a transaction that others overtake. */
async function cancelOpenly(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('begin');
  await cancelSome(client, () => {});
  await sleep(upTo(1000));
  await client.query(Math.random() < 0.2 ? 'rollback' : 'commit');
  reach('cancels left open');
}

/** Stores what it has read with the position, in one transaction: a reader that is killed before reads it again. */
async function readPage(client: pg.Client, reach: Reach): Promise<void> {
  await client.query("begin; set local application_name = 'reader'");
  const { rows } = await client.query<{ is_late: boolean }>(
    `with page as materialized (
       select e.* from witness.reader r
       cross join lateral taskq.events_after(r.position, $1) with ordinality as e (
         position, at, id, queue, type, status, reason, attempts, key, group_key, workflow_id, step, tags, extra, n
       )
     ),
     stored as (
       update witness.reader r set position = l.position from (select position from page order by n desc limit 1) as l
     ),
     noted as (
       insert into witness.read (task_id, status) select p.id, p.status from page p order by p.n
     )
     -- Up to where it has read one that was open before.
     select position like '%.%' as is_late from page`,
    [1 + upTo(30)],
  );
  await client.query('commit');
  reach('pages');
  reach('late events', rows.filter(({ is_late }) => is_late).length);
}

async function killReader(client: pg.Client, reach: Reach): Promise<void> {
  const { rowCount } = await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name = 'reader' limit 1`,
  );
  reach('killed readers', rowCount ?? 0);
}

async function check(client: pg.Client, find: Find, reach: Reach): Promise<void> {
  for (let left = -1; left !== 0; ) {
    const before = await countOf(client);
    await readPage(client, reach);
    left = (await countOf(client)) - before;
  }
  await find(
    'ends that were not read, or not once',
    `select k.id, k.status, count(r.task_id) from (
       select id, status::text from taskq.finished_tasks union all select id, 'dead' from taskq.dead_tasks
     ) as k
     left join witness.read r on r.task_id = k.id and r.status = k.status
     group by k.id, k.status having count(r.task_id) <> 1`,
  );
  await find(
    'events of ends that were rolled back',
    `select r.task_id, r.status from witness.read r
     where not exists (select from taskq.finished_tasks f where f.id = r.task_id and f.status::text = r.status)
       and not exists (select from taskq.dead_tasks d where d.id = r.task_id and r.status = 'dead')`,
  );
}

async function countOf(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: string }>('select count(*) from witness.read');
  return Number(rows[0]!.count);
}
