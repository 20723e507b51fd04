import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type pg from 'pg';
import {
  type Act,
  connect,
  deadlocksOf,
  oneOf,
  type Reach,
  repeat,
  terminateBackend,
  untilWorkersClaim,
  upTo,
} from './chaos.ts';
import type { Found, Killable, Testbed } from './scenario.ts';

const HANDLERS = fileURLToPath(new URL('handlers', import.meta.url));
const WORKERS = 6;
const PRODUCERS = 5;
const LEASE_MS = 3000;

/** The most that each queue ever allows: `fixed` and `both` do not change, `narrow` allows less now and then. */
const MOST_RUNNING = { fixed: 3, narrow: 4, both: 3 };
/** Starts in a second, and at once. */
const RATES = { rated: { rate: 40, burst: 5 }, both: { rate: 60, burst: 4 } };
const QUEUES = [...new Set([...Object.keys(MOST_RUNNING), ...Object.keys(RATES)])];

/** What happens beside the workers, each on a connection of its own, and how often. */
const CHAOS: readonly (readonly [everyMs: number, act: Act])[] = [
  ...Array.from({ length: PRODUCERS }, () => [100, produce] as const),
  [150, cancelSome],
  [300, reviveSome],
  [700, changeLimits],
  [1500, leaveClaimOpen],
  [300, terminateBackend],
  [5, watch],
];

/** What has to be reached in a run of ordinary length; the server crashes where it can be made to. */
const FAULTS = [
  ...['killed workers', 'terminated backends', 'rescues', 'rollbacks', 'cancels', 'revived'],
  ...['changes of a limit', 'claims left open', 'full queues', 'queues that wait for their rate'],
];
const ORDINARY_S = 20;
const KILL_MS = 1500;

const TOO_MANY = 'moments with more tasks than a queue allows';
const UNCOUNTED = 'moments with a task that its limit has not counted';

/**
 * Producers enqueue tasks of four limited queues, in bulks and in transactions that stay open or are rolled back, while
 * tasks are cancelled and revived, limits change, a claim stays open, sessions are terminated, workers killed and the
 * server crashes. No moment may show more held tasks than the limit of their queue, or one that the limit has not
 * counted; the handlers witness, on a connection of their own, that no more ran; no time may have more claims than the
 * rate allows; and at the end every task has ended, once.
 */
export async function limits({ url, start, crash }: Testbed, seconds: number): Promise<Found> {
  const figures: Record<string, number> = {};
  const reach: Reach = (fault, times = 1) => {
    figures[fault] = (figures[fault] ?? 0) + times;
  };
  const admin = await connect(url);
  await prepare(admin);
  const workers: Killable[] = [];
  const work = () => {
    const times = ['--lease', `${LEASE_MS}ms`, '--poll', '200ms', '--grace', '1s'];
    const env = { DATABASE_URL: url, WITNESS_URL: url, WITNESS_WORKER: String(workers.length) };
    workers.push(start(['work', '--handlers', HANDLERS, ...times], env));
  };
  for (let n = 0; n < WORKERS; n++) work();
  await untilWorkersClaim(admin, WORKERS);

  const over = new AbortController();
  let oldest = 0;
  const kill: Act = async (client) => {
    workers[oldest]!.kill('SIGKILL');
    await workers[oldest]!.exit;
    await client.query('insert into witness.killed values ($1)', [oldest]);
    oldest += 1;
    reach('killed workers');
    work();
  };
  const chaos = [...CHAOS, [KILL_MS, kill] as const].map(([everyMs, act]) =>
    repeat(url, over.signal, everyMs, act, reach),
  );
  let deadlocks = 0;
  await sleep(seconds * 500);
  if (crash !== undefined) {
    deadlocks += await deadlocksOf(admin);
    await admin.end().catch(() => {});
    await crash();
    reach('server crashes');
  }
  await sleep(seconds * 500);
  over.abort();
  await Promise.all(chaos);

  const last = await connect(url);
  const faults = [...(await settleDown(last)), ...(await check(last, reach))];
  deadlocks += await deadlocksOf(last);
  if (deadlocks > 0) faults.push(`${deadlocks} deadlocks`);
  for (const fault of [TOO_MANY, UNCOUNTED])
    if (figures[fault] !== undefined) faults.push(`${figures[fault]} ${fault}`);
  if (seconds >= ORDINARY_S)
    faults.push(...FAULTS.filter((fault) => !figures[fault]).map((fault) => `not reached: ${fault}`));
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all([last.end(), ...workers.map(({ exit }) => exit)]);
  if (crash === undefined) await admin.end();
  return { faults, figures };
}

/** A trigger notes each claim: every lease of this database is equally long, so its end says when the claim was. */
async function prepare(client: pg.Client): Promise<void> {
  await client.query(`
    create schema witness;
    create table witness.enqueued (task_id bigint primary key);
    create table witness.committed (task_id bigint);
    create table witness.killed (worker int, at timestamptz default clock_timestamp());
    create table witness.runs (
      task_id bigint, worker int, run uuid primary key, began_at timestamptz default clock_timestamp(), ended_at timestamptz
    );
    create table witness.claims (queue text, at timestamptz);
    create function witness.note() returns trigger language plpgsql as $$
    begin
      insert into witness.claims values (new.queue, new.lease_expires_at - interval '${LEASE_MS} ms');
      return null;
    end
    $$;
    create trigger note after update on taskq.tasks for each row
    when (old.lease_owner is null and new.lease_owner is not null) execute function witness.note();
    select taskq.add_types('{witness}', '{}');
    select taskq.set_defaults('{"max_attempts": 2, "backoff": {"kind": "fixed", "base_ms": 50}}');
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

/** A bulk in a transaction that is open for a while, and may be rolled back. */
async function produce(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('begin');
  const tasks = Array.from({ length: 1 + upTo(oneOf([2, 4, 12])) }, () => ({
    type: 'witness',
    payload: { ms: upTo(12), fails: Math.random() < 0.06 },
    priority: upTo(3),
    max_attempts: oneOf([1, 3]),
    ...(Math.random() < 0.1 && { delay_ms: 1 + upTo(1500) }),
  }));
  const { rows } = await client.query<{ id: string }>('select id from taskq.enqueue_many($1, $2)', [
    JSON.stringify(tasks),
    { queue: oneOf(QUEUES) },
  ]);
  const ids = rows.map(({ id }) => id);
  await client.query('insert into witness.enqueued select unnest($1::bigint[])', [ids]);
  if (Math.random() < 0.1) await sleep(upTo(1500));
  if (Math.random() < 0.15) {
    await client.query('rollback');
    reach('rollbacks');
    return;
  }
  await client.query('commit');
  await client.query('insert into witness.committed select unnest($1::bigint[])', [ids]);
}

async function cancelSome(client: pg.Client, reach: Reach): Promise<void> {
  const { rows } = await client.query(
    'select from taskq.cancel(array(select id from taskq.tasks where random() < 0.02 order by id limit 3))',
  );
  reach('cancels', rows.length);
}

async function reviveSome(client: pg.Client, reach: Reach): Promise<void> {
  const { rows } = await client.query(
    "select from taskq.revive(array(select id from taskq.dead_tasks limit 5)) where answer = 'revived'",
  );
  reach('revived', rows.length);
}

async function changeLimits(client: pg.Client, reach: Reach): Promise<void> {
  await client.query("select taskq.set_queue('narrow', $1)", [
    { max_running: 1 + upTo(MOST_RUNNING.narrow) },
  ]);
  reach('changes of a limit');
}

/** A claim whose transaction stays open, and is undone or left to be rescued. */
async function leaveClaimOpen(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('begin');
  const { rows } = await client.query(
    `select id from taskq.claim(1, $1, '{witness}', 5, 0, ${LEASE_MS}) where id is not null`,
    [QUEUES],
  );
  await sleep(1000);
  await client.query(oneOf(['commit', 'rollback']));
  reach('claims left open', Math.sign(rows.length));
}

/** What each statement sees was so at one moment. */
async function watch(client: pg.Client, reach: Reach): Promise<void> {
  const { rows } = await client.query<{ queue: string; held: number; uncounted: number; waits: boolean }>(
    `select l.queue, count(t.id)::integer as held,
       count(t.id) filter (where l.max_running is not null and t.id <> all (l.held))::integer as uncounted,
       l.opens_at < 'infinity' as waits
     from taskq.queue_limits l left join taskq.tasks t on t.queue = l.queue and t.lease_owner is not null
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

/** Waits until nothing is live; what is when nothing has ended for a minute is stuck. */
async function settleDown(client: pg.Client): Promise<string[]> {
  const left = 'select id, queue, status, available_at, lease_owner, attempts from taskq.tasks order by id';
  let least = Infinity;
  for (let end = performance.now() + 60_000; performance.now() < end; ) {
    const { length } = (await client.query(left)).rows;
    if (length === 0) break;
    if (length < least) end = performance.now() + 60_000;
    least = Math.min(least, length);
    await sleep(200);
  }
  const { rows } = await client.query(left);
  const { rows: about } = await client.query('select * from taskq.queue_limits');
  return rows.length === 0
    ? []
    : [
        `${rows.length} tasks are stuck, such as ${JSON.stringify(rows.slice(0, 3))}, of ${JSON.stringify(about)}`,
      ];
}

async function check(client: pg.Client, reach: Reach): Promise<string[]> {
  const problems: string[] = [];
  const find = async (what: string, text: string) => {
    const { rows } = await client.query(text);
    if (rows.length > 0) problems.push(`${rows.length} ${what}, such as ${JSON.stringify(rows.slice(0, 3))}`);
  };
  // A run whose process was killed ended with it; one whose connection was lost with its server, never.
  await client.query(`
    create table witness.spans as
    select a.queue, r.run, r.began_at, coalesce(r.ended_at, k.at) as ended_at
    from witness.runs r
    join taskq.all_tasks a on a.id = r.task_id
    left join lateral (select min(k.at) as at from witness.killed k where k.worker = r.worker) as k on true
  `);
  const { rows } = await client.query<{ runs: number; claims: number; lost: number }>(
    `select (select count(*)::integer from witness.spans) as runs, (select count(*)::integer from witness.claims) as claims,
       (select count(*)::integer from taskq.task_errors where outcome = 'lost') as lost`,
  );
  reach('runs', rows[0]!.runs);
  reach('claims', rows[0]!.claims);
  reach('rescues', rows[0]!.lost);
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
  await find(
    'tasks lost, or kept twice',
    `select e.task_id from witness.enqueued e
     left join (
       select id from taskq.finished_tasks union all select id from taskq.dead_tasks union all select id from taskq.tasks
     ) as k on k.id = e.task_id
     where exists (select from witness.committed c where c.task_id = e.task_id)
     group by e.task_id having count(k.id) <> 1`,
  );
  return problems;
}
