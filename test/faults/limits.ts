import type pg from 'pg';
import {
  type Chaos,
  cancelSome,
  enqueueBulk,
  type Find,
  LEASE_MS,
  leaveClaimOpen,
  numberOf,
  oneOf,
  type Reach,
  runChaos,
  upTo,
  witnessTask,
} from './chaos.ts';
import type { Found, Testbed } from './scenario.ts';

const PRODUCERS = 5;

/** The most that each queue ever allows: `fixed` and `both` do not change, `narrow` allows less now and then. */
const MOST_RUNNING = { fixed: 3, narrow: 4, both: 3 };
/** Starts in a second, and at once. */
const RATES = { rated: { rate: 40, burst: 5 }, both: { rate: 60, burst: 4 } };
const QUEUES = [...new Set([...Object.keys(MOST_RUNNING), ...Object.keys(RATES)])];

const TOO_MANY = 'moments with more tasks than a queue allows';
const UNCOUNTED = 'moments with a task that its limit has not counted';

/**
 * Producers enqueue tasks of four limited queues, in bulks and in transactions that stay open or are rolled back, while
 * tasks are cancelled and revived, limits change, a claim stays open, sessions are terminated, workers killed and the
 * server crashes. No moment may show more held tasks than the limit of their queue, or one that the limit has not
 * counted; the handlers witness, on a connection of their own, that no more ran; no time may have more claims than the
 * rate allows; and at the end every task has ended, once.
 */
export function limits(testbed: Testbed, seconds: number): Promise<Found> {
  return runChaos(testbed, seconds, CHAOS);
}

const CHAOS: Chaos = {
  prepare,
  acts: [
    ...Array.from({ length: PRODUCERS }, () => [100, produce] as const),
    [150, cancelSome],
    [300, reviveSome],
    [700, changeLimits],
    [
      1500,
      (client, reach) =>
        leaveClaimOpen(client, reach, { queues: QUEUES, ms: 1000, end: oneOf(['commit', 'rollback']) }),
    ],
    [5, watch],
  ],
  toReach: [
    ...['cancels', 'revived', 'changes of a limit', 'changes of a limit left open', 'claims left open'],
    ...['full queues', 'queues that wait for their rate'],
  ],
  notToReach: [TOO_MANY, UNCOUNTED],
  check,
};

/** A trigger notes each claim: every lease of this database is equally long, so its end says when the claim was. */
async function prepare(client: pg.Client): Promise<void> {
  await client.query(`
    create table witness.claims (queue text, at timestamptz);
    create function witness.note() returns trigger language plpgsql as $$
    begin
      insert into witness.claims values (new.queue, new.lease_expires_at - interval '${LEASE_MS} ms');
      return null;
    end
    $$;
    create trigger note after update on taskq.tasks for each row
    when (old.lease_owner is null and new.lease_owner is not null) execute function witness.note();
  `);
  for (const queue of QUEUES)
    await client.query('select taskq.set_queue($1, $2)', [queue, settingsOf(queue)]);
}

function settingsOf(queue: string): object {
  const most: number | undefined = MOST_RUNNING[queue as keyof typeof MOST_RUNNING];
  const rate = RATES[queue as keyof typeof RATES];
  return {
    ...(most !== undefined && { max_running: most }),
    ...(rate !== undefined && { rate: `${rate.rate}/1s`, burst: rate.burst }),
  };
}

function produce(client: pg.Client, reach: Reach): Promise<void> {
  const tasks = Array.from({ length: 1 + upTo(oneOf([2, 4, 12])) }, witnessTask);
  return enqueueBulk(client, reach, { queue: oneOf(QUEUES), tasks });
}

async function reviveSome(client: pg.Client, reach: Reach): Promise<void> {
  const { rows } = await client.query(
    "select from taskq.revive(array(select id from taskq.dead_tasks limit 5)) where answer = 'revived'",
  );
  reach('revived', rows.length);
}

/** Every other one in a transaction that stays open, which no claim may wait for. */
async function changeLimits(client: pg.Client, reach: Reach): Promise<void> {
  const staysOpen = oneOf([true, false]);
  await client.query('begin');
  await client.query("select taskq.set_queue('narrow', $1)", [
    { max_running: 1 + upTo(MOST_RUNNING.narrow) },
  ]);
  if (staysOpen) await client.query('select pg_sleep(1)');
  await client.query('commit');
  reach(staysOpen ? 'changes of a limit left open' : 'changes of a limit');
}

/** What each statement sees was so at one moment. */
async function watch(client: pg.Client, reach: Reach): Promise<void> {
  const { rows } = await client.query<{ queue: string; held: number; uncounted: number; waits: boolean }>(
    `select l.queue, count(t.id)::integer as held,
       count(t.id) filter (where l.max_running is not null and t.id <> all (l.held))::integer as uncounted,
       bool_or(taskq.next_start_at(l, clock_timestamp()) is not null) as waits
     from taskq.standing_limits(array(select queue from taskq.queue_limits)) as l
     left join taskq.tasks t on t.queue = l.queue and t.lease_owner is not null
     group by l.queue`,
  );
  for (const { queue, held, uncounted, waits } of rows) {
    const most = MOST_RUNNING[queue as keyof typeof MOST_RUNNING] ?? Infinity;
    if (held > most) reach(TOO_MANY);
    if (held === most) reach('full queues');
    if (uncounted > 0) reach(UNCOUNTED);
    if (waits) reach('queues that wait for their rate');
  }
}

async function check(client: pg.Client, find: Find, reach: Reach): Promise<void> {
  reach('claims', await numberOf(client, 'select count(*) from witness.claims'));
  for (const [queue, most] of Object.entries(MOST_RUNNING))
    await find(
      `runs above the limit of ${queue}`,
      `select s.run, count(*) from witness.spans s
       join witness.spans o on o.queue = s.queue and o.run <> s.run and o.began_at <= s.began_at and o.ended_at > s.began_at
       where s.queue = '${queue}' group by s.run having count(*) >= ${most}`,
    );
  // Of all times that end with this claim, that in which the most is above the rate.
  for (const [queue, { rate, burst }] of Object.entries(RATES))
    await find(
      `claims above the rate of ${queue}`,
      `select * from (
         select at, 1 + above - min(above) over (order by nth rows unbounded preceding) as burst
         from (
           select at, nth, nth - ${rate} * extract(epoch from at) as above
           from (select at, row_number() over (order by at) as nth from witness.claims where queue = '${queue}') as claim
         ) as claim
       ) as claim where burst > ${burst}`,
    );
}
