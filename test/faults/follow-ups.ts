import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import {
  BELIEVED,
  type Chaos,
  cancelSome,
  comeBack,
  enqueueBulk,
  type Find,
  type Reach,
  runChaos,
  upTo,
  witnessTask,
} from './chaos.ts';
import type { Found, Testbed } from './scenario.ts';

const PRODUCERS = 3;
/** A key that many follow-ups have, and producers in open transactions. */
const SHARED = 'shared';

/**
 * Tasks enqueue others with their end, some with keys, and name what follows their completion and their death, while
 * producers keep a key open, tasks are cancelled, a worker comes back that has lost its leases, sessions are terminated,
 * workers killed and the server crashes. At the end each task that has completed is followed by exactly what its handler
 * enqueued and by what was to follow its completion, each that died by what was to follow its death, no other by anything.
 */
export function followUps(testbed: Testbed, seconds: number): Promise<Found> {
  return runChaos(testbed, seconds, CHAOS);
}

const CHAOS: Chaos = {
  prepare: async (client) => {
    await client.query("select taskq.add_types('{next}')");
  },
  acts: [
    ...Array.from({ length: PRODUCERS }, () => [40, produce] as const),
    [200, cancelSome],
    [100, keepKeyOpen],
    [100, (client, reach) => comeBack(client, reach, 'witness', [{ type: 'witness', payload: { ms: 1 } }])],
  ],
  toReach: ['cancels', 'keys left open', 'zombies', 'followed', 'keyed follow-ups', 'follow-ups of deaths'],
  notToReach: [BELIEVED],
  check,
};

function produce(client: pg.Client, reach: Reach): Promise<void> {
  const tasks = Array.from({ length: 1 + upTo(10) }, () => {
    const { payload, ...task } = witnessTask();
    return {
      ...task,
      payload: {
        ...payload,
        fails: Math.random() < 0.3,
        follow: upTo(4),
        keyed: Math.random() < 0.3,
        shared: Math.random() < 0.05 ? SHARED : null,
      },
      ...(Math.random() < 0.3 && { on_complete: { type: 'witness', payload: { ms: 1 } } }),
      ...(Math.random() < 0.6 && { on_dead: { type: 'next', payload: { ms: 1 } } }),
    };
  });
  return enqueueBulk(client, reach, { queue: 'default', tasks });
}

async function keepKeyOpen(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('begin');
  await client.query("select taskq.enqueue('witness', $1, $2)", [{ ms: 1 }, { key: SHARED }]);
  await sleep(upTo(1500));
  await client.query(Math.random() < 0.5 ? 'rollback' : 'commit');
  reach('keys left open');
}

async function check(client: pg.Client, find: Find, reach: Reach): Promise<void> {
  await client.query(`
    create table witness.ends as
    select e.task_id, e.task, k.status from witness.enqueued e
    join (
      select id, status::text from taskq.finished_tasks union all select id, 'dead' from taskq.dead_tasks
    ) as k on k.id = e.task_id;
    create table witness.follows as
    select source, (payload ->> 'n')::integer as n, unique_key as key from taskq.all_tasks
    where source ~ '^(follow-up|on_complete|on_dead) of';
    create index on witness.follows (source)
  `);
  const { rows } = await client.query<Record<string, number>>(
    `select count(distinct source)::integer as "followed",
       count(*) filter (where key is not null)::integer as "keyed follow-ups",
       count(*) filter (where source like 'on_dead%')::integer as "follow-ups of deaths"
     from witness.follows`,
  );
  for (const [what, count] of Object.entries(rows[0]!)) reach(what, count);
  await find(
    'tasks that are followed by more or less than their handler enqueued',
    `select e.task_id, e.status, e.task #> '{payload,follow}' as follow, f.numbers
     from witness.ends e
     cross join lateral (
       select coalesce(array_agg(l.n order by l.n), '{}') as numbers from witness.follows l
       where l.source = 'follow-up of ' || e.task_id and l.key is distinct from '${SHARED}'
     ) as f
     where f.numbers <> case e.status
       when 'completed' then array(select generate_series(1, (e.task #> '{payload,follow}')::integer))
       else '{}'
     end`,
  );
  await find(
    'tasks whose end is followed by more or less than it should be',
    `select e.task_id, e.status, e.task -> 'on_complete' as on_complete, e.task -> 'on_dead' as on_dead,
       f.completions, f.deaths
     from witness.ends e
     cross join lateral (
       select count(*) filter (where l.source like 'on_complete%') as completions,
         count(*) filter (where l.source like 'on_dead%') as deaths
       from witness.follows l
       where l.source in ('on_complete of ' || e.task_id, 'on_dead of ' || e.task_id)
     ) as f
     where (f.completions, f.deaths) <> (
       (e.status = 'completed' and e.task ? 'on_complete')::integer, (e.status = 'dead' and e.task ? 'on_dead')::integer
     )`,
  );
  await find(
    'tasks that have more than one follow-up with a shared key, or have one though they did not complete',
    `select l.source from witness.follows l
     join witness.ends e on l.source = 'follow-up of ' || e.task_id
     where l.key = '${SHARED}' group by l.source, e.status having count(*) > 1 or e.status <> 'completed'`,
  );
}
