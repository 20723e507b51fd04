import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import {
  type Chaos,
  cancelSome,
  enqueueBulk,
  type Find,
  leaveClaimOpen,
  oneOf,
  type Reach,
  runChaos,
  upTo,
  witnessTask,
} from './chaos.ts';
import type { Found, Testbed } from './scenario.ts';

const PRODUCERS = 5;
/**
 * Groups of each queue. `strict` runs one at a time, in order; `wide` up to 3, less from time to time; so does `rated`,
 * which has a rate as well.
 */
const GROUPS = 6;
const MOST = 3;
const RATE = { starts: 8, burst: 2 };
const TOO_MANY = 'moments when a group had more slots than its limit';

/**
 * Producers enqueue tasks of a few groups, in bulks and in transactions that stay open or are rolled back, while tasks
 * are cancelled, revived and edited, limits change, a claim stays open, sessions are terminated, workers killed and the
 * server crashes. The handlers are the witness: no group may ever have run more tasks at once than its limit, none of a
 * group that runs in order may have begun before one that was committed before and comes first, none that has a rate may
 * have begun more tasks in any time than that allows, and at the end every task has ended, once.
 */
export function groups(testbed: Testbed, seconds: number): Promise<Found> {
  return runChaos(testbed, seconds, CHAOS);
}

const CHAOS: Chaos = {
  prepare,
  acts: [
    ...Array.from({ length: PRODUCERS }, () => [20, produce] as const),
    [150, cancelSome],
    [300, reviveSome],
    [700, changeLimits],
    [100, editForTwoSeconds],
    [
      500,
      (client, reach) =>
        leaveClaimOpen(client, reach, { queues: ['strict', 'wide', 'rated'], ms: 2000, end: 'rollback' }),
    ],
    [5, watchSlots],
  ],
  toReach: [
    ...['cancels', 'revived', 'edits', 'changes of a limit', 'claims left open'],
    'groups that wait for their rate',
  ],
  notToReach: [TOO_MANY],
  check,
};

async function prepare(client: pg.Client): Promise<void> {
  await client.query(`
    create table witness.edited (task_id bigint);
    -- Where a claim takes a task for the first time: when its transaction began, and in which order. Undone with it.
    create table witness.claims (
      task_id bigint, began_at timestamptz default now(), nth bigint generated always as identity
    );
    create function witness.note_claim() returns trigger language plpgsql security definer as $$
      begin
        insert into witness.claims (task_id) values (new.id);
        return null;
      end
    $$;
    create trigger note_claim after update of lease_owner on taskq.tasks
    for each row when (old.lease_owner is null and new.lease_owner is not null and old.started_at is null)
    execute function witness.note_claim();
    select taskq.set_queue('strict', '{"group_limit": 1}');
    select taskq.set_queue('wide', '{"group_limit": ${MOST}, "group_order": "relaxed"}');
    select taskq.set_queue('rated', '{
      "group_limit": ${MOST}, "group_order": "relaxed", "group_rate": "${RATE.starts}/1s", "group_burst": ${RATE.burst}
    }');
  `);
}

function produce(client: pg.Client, reach: Reach): Promise<void> {
  const tasks = Array.from({ length: 1 + upTo(oneOf([3, 10, 20])) }, () => ({
    ...witnessTask(),
    group: `g${upTo(GROUPS)}`,
  }));
  return enqueueBulk(client, reach, { queue: oneOf(['strict', 'strict', 'wide', 'wide', 'rated']), tasks });
}

async function reviveSome(client: pg.Client, reach: Reach): Promise<void> {
  const { rows } = await client.query(
    `insert into witness.edited
     select id from taskq.revive(array(select id from taskq.dead_tasks limit 5)) where answer = 'revived'
     returning task_id`,
  );
  reach('revived', rows.length);
}

async function changeLimits(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('select taskq.set_queue($1, $2)', [
    oneOf(['wide', 'rated']),
    JSON.stringify({ group_limit: 1 + upTo(MOST) }),
  ]);
  reach('changes of a limit');
}

/** As an application does that knows no better: it changes waiting rows, and is slow to commit. */
async function editForTwoSeconds(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('begin');
  const { rows } = await client.query(
    `with edited as (
       update taskq.tasks set priority = (priority + 1) % 3, tags = '{}'
       where id in (select id from taskq.tasks where gate = 'w' order by random() limit 2 for update skip locked)
       returning id
     )
     insert into witness.edited select id from edited returning task_id`,
  );
  await sleep(2000);
  await client.query('commit');
  reach('edits', rows.length);
}

/** No moment has more slots given out than the most that the queue ever allows. */
async function watchSlots(client: pg.Client, reach: Reach): Promise<void> {
  const { rows } = await client.query<{ queue: string; slots: number }>(
    `select queue, count(*)::integer as slots from taskq.tasks where gate in ('h', 's')
     group by queue, group_key having count(*) > case queue when 'strict' then 1 else ${MOST} end`,
  );
  if (rows.length > 0) reach(TOO_MANY, rows.length);
  const { rows: waiting } = await client.query(
    `select from taskq.asks a join taskq.group_rates r on r.queue = a.queue and r.key = a.key
     where a.due_at between clock_timestamp() and r.used_to`,
  );
  if (waiting.length > 0) reach('groups that wait for their rate', waiting.length);
}

async function check(_client: pg.Client, find: Find): Promise<void> {
  await find(
    'runs above the limit of their group',
    `select s.run, s.queue, s.task ->> 'group' as key, count(*) from witness.spans s
     join witness.spans o on o.queue = s.queue and o.task -> 'group' = s.task -> 'group' and o.run <> s.run
       and o.began_at <= s.began_at and o.ended_at > s.began_at
     group by s.run, s.queue, key
     having count(*) >= case s.queue when 'strict' then 1 else ${MOST} end`,
  );
  // Of all times that end with this run, that in which the most is above the rate: beside what the rate allows, those
  // begin that had a slot when the time began.
  await find(
    'runs above the rate of their group',
    `select task_id, key, above - least_before + 1 as above
     from (
       select task_id, key, above, min(above) over (partition by key order by began_at, nth) as least_before
       from (
         select s.task_id, s.began_at, s.task ->> 'group' as key, s.nth,
           s.nth - ${RATE.starts} * extract(epoch from s.began_at) as above
         from (
           select *, row_number() over (partition by task ->> 'group' order by began_at) as nth
           from witness.spans where queue = 'rated'
         ) as s
       ) as runs
     ) as spans
     where above - least_before + 1 > ${RATE.burst + MOST}`,
  );
  await find(
    'tasks out of order',
    `with task as materialized (
       select e.task_id, e.task ->> 'group' as key, (e.task -> 'priority')::integer as priority,
         c.at as committed_at, first.began_at, first.nth
       from witness.enqueued e
       join witness.committed c using (task_id)
       cross join lateral (
         select began_at, nth from witness.claims l where l.task_id = e.task_id order by nth limit 1
       ) as first
       where e.queue = 'strict' and not e.task ? 'delay_ms'
         and not exists (select from witness.edited d where d.task_id = e.task_id)
     )
     select a.task_id as later, b.task_id as earlier, a.key, a.committed_at, b.began_at, a.began_at as next_began_at
     from task a join task b on b.key = a.key and (b.priority, b.task_id) > (a.priority, a.task_id)
     where b.nth < a.nth and a.committed_at < b.began_at`,
  );
}
