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
/** Groups of each queue. `strict` runs one at a time, in order; `wide` up to 3, less from time to time. */
const GROUPS = 6;

/** What happens beside the workers, each on a connection of its own, and how often. */
const CHAOS: readonly (readonly [everyMs: number, act: Act])[] = [
  ...Array.from({ length: PRODUCERS }, () => [20, produce] as const),
  [150, cancelSome],
  [300, reviveSome],
  [700, changeLimits],
  [100, editForTwoSeconds],
  [500, leaveClaimOpen],
  [250, terminateBackend],
  [5, watchSlots],
];

/** What has to be reached in a run of ordinary length; the server crashes where it can be made to. */
const FAULTS = [
  ...['killed workers', 'terminated backends', 'rescues', 'rollbacks', 'cancels', 'revived', 'edits'],
  ...['changes of a limit', 'claims left open'],
];
const ORDINARY_S = 20;
const KILL_MS = 1500;

/**
 * Producers enqueue tasks of a few groups, in bulks and in transactions that stay open or are rolled back, while tasks
 * are cancelled, revived and edited, limits change, a claim stays open, sessions are terminated, workers killed and the
 * server crashes. The handlers are the witness: no group may ever have run more tasks at once than its limit, none of a
 * group that runs in order may have begun before one that was committed before and comes first, and at the end every task
 * has ended, once.
 */
export async function groups({ url, start, crash }: Testbed, seconds: number): Promise<Found> {
  const figures: Record<string, number> = {};
  const reach: Reach = (fault, times = 1) => {
    figures[fault] = (figures[fault] ?? 0) + times;
  };
  const admin = await connect(url);
  await prepare(admin);
  const workers: Killable[] = [];
  const work = () => {
    const args = ['work', '--handlers', HANDLERS, '--lease', '3s', '--poll', '200ms', '--grace', '1s'];
    const env = { DATABASE_URL: url, WITNESS_URL: url, WITNESS_WORKER: String(workers.length) };
    workers.push(start(args, env));
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
  if (figures[TOO_MANY] !== undefined)
    faults.push(`${figures[TOO_MANY]} times a group had more slots than its limit`);
  if (seconds >= ORDINARY_S)
    faults.push(...FAULTS.filter((fault) => !figures[fault]).map((fault) => `not reached: ${fault}`));
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all([last.end(), ...workers.map(({ exit }) => exit)]);
  if (crash === undefined) await admin.end();
  return { faults, figures };
}

const TOO_MANY = 'groups with too many slots';

async function prepare(client: pg.Client): Promise<void> {
  await client.query(`
    create schema witness;
    create table witness.enqueued (task_id bigint primary key, queue text, key text, priority int, plain boolean);
    create table witness.committed (task_id bigint, at timestamptz default clock_timestamp());
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
    create table witness.killed (worker int, at timestamptz default clock_timestamp());
    create table witness.runs (
      task_id bigint, worker int, run uuid primary key, began_at timestamptz default clock_timestamp(), ended_at timestamptz
    );
    select taskq.add_types('{witness}', '{}');
    select taskq.set_defaults('{"max_attempts": 2, "backoff": {"kind": "fixed", "base_ms": 50}}');
    select taskq.set_queue('strict', '{"group_limit": 1}');
    select taskq.set_queue('wide', '{"group_limit": 3, "group_order": "relaxed"}');
  `);
}

/** A bulk in a transaction that is open for a while, and may be rolled back. */
async function produce(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('begin');
  const count = 1 + upTo(oneOf([3, 10, 20]));
  const lane = oneOf(['strict', 'wide']);
  const tasks = Array.from({ length: count }, () => ({
    type: 'witness',
    payload: { ms: upTo(12), fails: Math.random() < 0.06 },
    group: `g${upTo(GROUPS)}`,
    priority: upTo(3),
    max_attempts: oneOf([1, 3]),
    ...(Math.random() < 0.1 && { delay_ms: 1 + upTo(1500) }),
  }));
  const { rows } = await client.query<{ id: string; place: string }>(
    'select id, place from taskq.enqueue_many($1, $2)',
    [JSON.stringify(tasks), { queue: lane }],
  );
  for (const { id, place } of rows) {
    const { group, priority, payload, ...options } = tasks[Number(place) - 1]!;
    await client.query('insert into witness.enqueued values ($1, $2, $3, $4, $5)', [
      id,
      lane,
      group,
      priority,
      !('delay_ms' in options),
    ]);
  }
  if (Math.random() < 0.1) await sleep(upTo(1500));
  if (Math.random() < 0.15) {
    await client.query('rollback');
    reach('rollbacks');
    return;
  }
  await client.query('commit');
  await client.query('insert into witness.committed select unnest($1::bigint[])', [rows.map(({ id }) => id)]);
}

async function cancelSome(client: pg.Client, reach: Reach): Promise<void> {
  const { rows } = await client.query(
    `select answer from taskq.cancel(array(
       select id from taskq.tasks where random() < 0.02 order by id limit 3
     ))`,
  );
  reach('cancels', rows.length);
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
  await client.query("select taskq.set_queue('wide', $1)", [JSON.stringify({ group_limit: 1 + upTo(3) })]);
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

/** A claim whose transaction stays open, and is undone. */
async function leaveClaimOpen(client: pg.Client, reach: Reach): Promise<void> {
  await client.query('begin');
  const { rows } = await client.query(
    "select id from taskq.claim(1, '{strict,wide}', '{witness}', 5, 0, 3000) where id is not null",
  );
  await sleep(2000);
  await client.query('rollback');
  reach('claims left open', Math.sign(rows.length));
}

/** No moment has more slots given out than the most that the queue ever allows. */
async function watchSlots(client: pg.Client, reach: Reach): Promise<void> {
  const { rows } = await client.query<{ queue: string; slots: number }>(
    `select queue, count(*)::integer as slots from taskq.tasks where gate in ('h', 's')
     group by queue, group_key having count(*) > case queue when 'strict' then 1 else 3 end`,
  );
  if (rows.length > 0) reach(TOO_MANY, rows.length);
}

/** Waits until nothing is live; what is when nothing has ended for a minute is stuck. */
async function settleDown(client: pg.Client): Promise<string[]> {
  const left =
    'select id, queue, group_key, gate, status, available_at, lease_owner, attempts from taskq.tasks order by gate, id';
  let least = Infinity;
  for (let end = performance.now() + 60_000; performance.now() < end; ) {
    const { length } = (await client.query(left)).rows;
    if (length === 0) break;
    if (length < least) end = performance.now() + 60_000;
    least = Math.min(least, length);
    await sleep(200);
  }
  const { rows } = await client.query(left);
  const { rows: asks } = await client.query('select * from taskq.asks limit 5');
  return rows.length === 0
    ? []
    : [
        `${rows.length} tasks are stuck, such as ${JSON.stringify(rows.slice(0, 5))}, asks: ${JSON.stringify(asks)}`,
      ];
}

async function check(client: pg.Client, reach: Reach): Promise<string[]> {
  const problems: string[] = [];
  const count = async (what: string, text: string) => {
    const { rows } = await client.query(text);
    if (rows.length > 0) problems.push(`${rows.length} ${what}, such as ${JSON.stringify(rows.slice(0, 3))}`);
  };
  // A run without a record of its end ended with its process, with its lease, or with an error: the server may crash
  // after it committed the record of the start and before the handler learned of it.
  await client.query(`
    create table witness.spans as
    select e.queue, e.key, e.priority, r.task_id, r.run, r.began_at, least(r.ended_at, k.at, failed.at) as ended_at
    from witness.runs r
    join witness.enqueued e using (task_id)
    left join lateral (select min(k.at) as at from witness.killed k where k.worker = r.worker) as k on true
    left join lateral (
      select min(l.failed_at) as at from taskq.task_errors l
      where l.task_id = r.task_id and l.failed_at > r.began_at
    ) as failed on true
  `);
  const { rows } = await client.query<{ runs: number }>(
    'select count(*)::integer as runs from witness.spans',
  );
  reach('runs', rows[0]!.runs);
  await count(
    'runs above the limit of their group',
    `select s.run, s.queue, s.key, count(*) from witness.spans s
     join witness.spans o on o.queue = s.queue and o.key = s.key and o.run <> s.run
       and o.began_at <= s.began_at and o.ended_at > s.began_at
     group by s.run, s.queue, s.key
     having count(*) >= case s.queue when 'strict' then 1 else 3 end`,
  );
  await count(
    'tasks out of order',
    `with task as (
       select e.*, c.at as committed_at, first.began_at, first.nth
       from witness.enqueued e
       join witness.committed c using (task_id)
       cross join lateral (
         select began_at, nth from witness.claims l where l.task_id = e.task_id order by nth limit 1
       ) as first
       where e.plain and e.queue = 'strict' and not exists (select from witness.edited d where d.task_id = e.task_id)
     )
     select a.task_id as later, b.task_id as earlier, a.key, a.committed_at, b.began_at, a.began_at as next_began_at
     from task a join task b on b.key = a.key and (b.priority, b.task_id) > (a.priority, a.task_id)
     where b.nth < a.nth and a.committed_at < b.began_at`,
  );
  await count(
    'tasks lost, or kept twice',
    `select e.task_id from witness.enqueued e
     left join (
       select id from taskq.finished_tasks union all select id from taskq.dead_tasks union all select id from taskq.tasks
     ) as k on k.id = e.task_id
     group by e.task_id having count(k.id) <> 1`,
  );
  await count(
    'completed tasks without a run',
    `select f.id from taskq.finished_tasks f
     where f.status = 'completed' and not exists (select from witness.runs r where r.task_id = f.id)`,
  );
  const { rows: lost } = await client.query(
    "select count(*)::integer as n from taskq.task_errors where outcome = 'lost'",
  );
  reach('rescues', lost[0].n);
  return problems;
}
