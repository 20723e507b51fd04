import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { CLAIM_FORMS } from '../../src/domain/claim-form.ts';
import { byChance } from './draw.ts';
import type { Found, Killable, Testbed } from './scenario.ts';

/** A stress of tasks of the type `witness`, whose handler records when each of its runs begins and ends. */
export interface Chaos {
  /** Makes the settings, and the tables and triggers that witness more than runs; schema `witness` exists. */
  readonly prepare: (client: pg.Client) => Promise<void>;
  /** What happens beside the workers, each on a connection of its own, and how often. */
  readonly acts: readonly (readonly [everyMs: number, act: Act])[];
  /** Lets end what would not end by itself: happens again and again after the run, while tasks are left. */
  readonly windUp?: Act;
  /** What has to be reached in a run of ordinary length, besides what each such run reaches. */
  readonly toReach: readonly string[];
  /** What an act reaches only if something is wrong. */
  readonly notToReach: readonly string[];
  /** Looks for what is wrong at the end, when no task is left. */
  readonly check: (client: pg.Client, find: Find, reach: Reach) => Promise<void>;
}

/** Does something on this connection, and says what it reached. */
export type Act = (client: pg.Client, reach: Reach) => Promise<void>;
/** Counts how often something was reached. */
export type Reach = (what: string, times?: number) => void;
/** Reports each row of a statement as wrong. */
export type Find = (what: string, text: string) => Promise<void>;

/** How long workers hold a task without a heartbeat. */
export const LEASE_MS = 3000;

const WORKERS = 6;
const KILL_MS = 1500;
const TERMINATE_MS = 250;
/** Far more than a busy machine takes to start workers again. */
export const PATIENCE_MS = 240_000;
/** Far more than a busy machine takes to end what a stress left. */
const ENDING_MS = 2 * PATIENCE_MS;
/** A run of at least this length has to reach everything. */
const ORDINARY_S = 20;

/**
 * Runs workers under load for this time: each act happens again and again, the oldest worker is killed and another one
 * started, sessions of workers are terminated, and in the middle the server crashes. Then lets what is left end, and
 * looks: no deadlock, no task stuck, lost or kept twice, none completed without a run, all counted once, and what the
 * stress itself checks.
 */
export async function runChaos(testbed: Testbed, seconds: number, chaos: Chaos): Promise<Found> {
  const { url, crash } = testbed;
  const figures: Record<string, number> = {};
  const reach: Reach = (what, times = 1) => {
    figures[what] = (figures[what] ?? 0) + times;
  };
  const admin = await connect(url);
  await admin.query(WITNESS);
  await chaos.prepare(admin);
  const workers: Killable[] = [];
  const startNext = () => {
    const env = { WITNESS_WORKER: String(workers.length) };
    workers.push(startWorker(testbed, ['--lease', `${LEASE_MS}ms`, '--poll', '200ms'], env));
  };
  for (let n = 0; n < WORKERS; n++) startNext();
  await inTime(url, 'workers start', untilWorkersClaim(admin, WORKERS));

  const over = new AbortController();
  let oldest = 0;
  const killOldest: Act = async (client) => {
    workers[oldest]!.kill('SIGKILL');
    await workers[oldest]!.exit;
    await client.query('insert into witness.killed values ($1)', [oldest]);
    oldest += 1;
    reach('killed workers');
    startNext();
  };
  const acts = [...chaos.acts, [TERMINATE_MS, terminateWorkerSession], [KILL_MS, killOldest]] as const;
  const errors = new Set<string>();
  const acting = acts.map(([everyMs, act]) => repeat(url, over.signal, everyMs, { act, reach, errors }));
  await sleep(seconds * 500);
  let deadlocks = 0;
  if (crash !== undefined) {
    deadlocks += await deadlocksOf(admin);
    await admin.end().catch(() => {});
    await crash();
    reach('server crashes');
  }
  await sleep(seconds * 500);
  over.abort();
  await inTime(url, 'acts end', Promise.all(acting));

  const last = await connect(url);
  const faults = await settleDown(last, async () => chaos.windUp?.(last, reach));
  const find: Find = async (what, text) => {
    const { rows } = await last.query(text);
    if (rows.length > 0) faults.push(`${rows.length} ${what}, such as ${JSON.stringify(rows.slice(0, 3))}`);
  };
  for (const error of errors) faults.push(`an act fails: ${error}`);
  await inTime(url, 'runs are checked', checkRuns(last, find, reach));
  await inTime(url, 'counts are checked', checkCounts(last, find));
  await chaos.check(last, find, reach);
  deadlocks += await deadlocksOf(last);
  if (deadlocks > 0) faults.push(`${deadlocks} deadlocks`);
  for (const what of chaos.notToReach)
    if (figures[what] !== undefined) faults.push(`${figures[what]} ${what}`);
  if (seconds >= ORDINARY_S)
    for (const what of [...ALWAYS_REACHED, ...chaos.toReach])
      if (!figures[what]) faults.push(`not reached: ${what}`);
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all([last.end(), ...workers.map(({ exit }) => exit)]);
  if (crash === undefined) await admin.end();
  return { faults, figures };
}

const ALWAYS_REACHED = ['killed workers', 'terminated backends', 'rescues', 'rollbacks'];

/** What every stress has. */
export const WITNESS = `
  create schema witness;
  create table witness.enqueued (task_id bigint primary key, queue text, task jsonb);
  create table witness.committed (task_id bigint, at timestamptz default clock_timestamp());
  create table witness.killed (worker int, at timestamptz default clock_timestamp());
  create table witness.runs (
    task_id bigint, worker int, run uuid primary key, began_at timestamptz default clock_timestamp(), ended_at timestamptz,
    good boolean
  );
  select taskq.add_types('{witness}', '{}');
  select taskq.set_defaults('{"max_attempts": 2, "backoff": {"kind": "fixed", "base_ms": 50}}');
`;

/** A task for the witness: it runs for a moment, fails now and then, and is delayed now and then. */
export function witnessTask() {
  return {
    type: 'witness',
    payload: { ms: upTo(12), fails: Math.random() < 0.06 },
    priority: upTo(3),
    max_attempts: oneOf([1, 3]),
    ...(Math.random() < 0.1 && { delay_ms: 1 + upTo(1500) }),
  };
}

/** Enqueues a bulk in a transaction that is open for a while, and may be rolled back. */
export async function enqueueBulk(
  client: pg.Client,
  reach: Reach,
  { queue, tasks }: { readonly queue: string; readonly tasks: readonly object[] },
): Promise<void> {
  await client.query('begin');
  const { rows } = await client.query<{ id: string }>(
    `with bulk as (select id, place from taskq.enqueue_many($1, $2))
     insert into witness.enqueued select id, $3, $1::jsonb -> (place - 1)::integer from bulk returning task_id as id`,
    [JSON.stringify(tasks), { queue }, queue],
  );
  if (Math.random() < 0.1) await sleep(upTo(1500));
  if (Math.random() < 0.15) {
    await client.query('rollback');
    reach('rollbacks');
    return;
  }
  await client.query('commit');
  await client.query('insert into witness.committed select unnest($1::bigint[])', [rows.map(({ id }) => id)]);
}

/** Cancels a few live tasks. */
export async function cancelSome(client: pg.Client, reach: Reach): Promise<void> {
  const { rows } = await client.query(
    'select from taskq.cancel(array(select id from taskq.tasks where random() < 0.02 order by id limit 3))',
  );
  reach('cancels', rows.length);
}

/** Claims for a moment, in a transaction that then ends as the statement says. */
export async function leaveClaimOpen(
  client: pg.Client,
  reach: Reach,
  {
    queues,
    types = ['witness'],
    ms,
    end,
  }: {
    readonly queues: readonly string[];
    readonly types?: readonly string[];
    readonly ms: number;
    readonly end: string;
  },
): Promise<void> {
  await client.query('begin');
  const { rows } = await client.query(
    'select id from taskq.claim(1, $1, $2, 5, 0, $3) where id is not null',
    [queues, types, LEASE_MS],
  );
  await sleep(ms);
  await client.query(end);
  reach('claims left open', Math.sign(rows.length));
}

/**
 * Claims tasks of this type, goes silent until another worker has them, and then reports that they have completed, with
 * these follow-ups.
 */
export async function comeBack(
  client: pg.Client,
  reach: Reach,
  type: string,
  enqueue?: readonly object[],
): Promise<void> {
  const { rows } = await client.query<{ id: string; lease_no: number }>(
    "select id, lease_no from taskq.claim(1, '{default}', array[$1], 3, 0, 100) where id is not null",
    [type],
  );
  if (rows.length === 0) return;
  const held = 'select from taskq.tasks where id = any ($1) and lease_owner = 1';
  const ids = rows.map(({ id }) => id);
  while ((await client.query(held, [ids])).rowCount !== 0) await sleep(LEASE_MS / 10);
  const outcomes = rows.map((lease) => ({ ...lease, outcome: 'completed', enqueue }));
  const { rows: answers } = await client.query<{ answer: string }>(
    'select answer from taskq.settle_and_enqueue(1, $1)',
    [JSON.stringify(outcomes)],
  );
  reach('zombies', answers.length);
  const believed = answers.filter(({ answer }) => answer !== 'lost');
  if (believed.length > 0) reach(BELIEVED, believed.length);
}

/** What `comeBack` reaches only if something is wrong. */
export const BELIEVED = 'zombies that were believed';

let started = 0;

/** Starts a worker with the handlers of these tests; every other one claims without SKIP LOCKED. */
export function startWorker(
  { url, start }: Testbed,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Killable {
  started += 1;
  return start(['work', '--handlers', HANDLERS, '--grace', '1s', ...args], {
    DATABASE_URL: url,
    WITNESS_URL: url,
    TASKQ_CLAIM: CLAIM_FORMS[started % CLAIM_FORMS.length]!,
    ...env,
  });
}

const HANDLERS = fileURLToPath(new URL('handlers', import.meta.url));

export const { upTo, oneOf } = byChance;

export async function connect(url: string, application_name = 'chaos'): Promise<pg.Client> {
  for (let triesLeft = 200; ; triesLeft--) {
    const client = new pg.Client({ connectionString: url, application_name });
    client.on('error', () => {});
    try {
      await client.connect();
      return client;
    } catch (error) {
      if (triesLeft === 0) throw error;
      await sleep(50);
    }
  }
}

/** Returns the only value of the only row. */
export async function numberOf(client: pg.Client, text: string): Promise<number> {
  const { rows } = await client.query<Record<string, string>>(text);
  return Number(Object.values(rows[0]!)[0]);
}

export function deadlocksOf(client: pg.Client): Promise<number> {
  return numberOf(client, 'select deadlocks from pg_stat_database where datname = current_database()');
}

/** Terminates one session, whose application has a name like this. Returns how many it found. */
export async function terminateSession(client: pg.Client, application: string): Promise<number> {
  const { rowCount } = await client.query(
    `select pg_terminate_backend(pid) from pg_stat_activity
     where datname = current_database() and application_name like $1 and pid <> pg_backend_pid()
     order by random() limit 1`,
    [application],
  );
  return rowCount ?? 0;
}

const terminateWorkerSession: Act = async (client, reach) =>
  reach('terminated backends', await terminateSession(client, 'taskq%'));

interface Acting {
  readonly act: Act;
  readonly reach: Reach;
  /** Gets what no kill and no lock explains: then the act tests nothing. */
  readonly errors: Set<string>;
}

/** Acts every so often until the signal; on a new connection after what failed. */
async function repeat(
  url: string,
  signal: AbortSignal,
  everyMs: number,
  { act, reach, errors }: Acting,
): Promise<void> {
  let client = await connect(url);
  while (!signal.aborted) {
    try {
      await act(client, reach);
    } catch (error) {
      reach('failed statements');
      if (!isDisturbance(error)) errors.add(String(error));
      await client.end().catch(() => {});
      client = await connect(url);
    }
    await sleep(everyMs * (0.5 + Math.random()));
  }
  await client.end().catch(() => {});
}

/** The connection is lost, the server shuts down, or something waited for too long. */
function isDisturbance(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || /^(08|40|55P03|57)/.test(error.code!);
}

/** Waits until this many workers have registered. */
async function untilWorkersClaim(client: pg.Client, workers: number): Promise<void> {
  while ((await numberOf(client, 'select count(*) from taskq.workers')) < workers) await sleep(100);
}

/** Resolves as the work does; rejects with what the sessions do when it hangs. */
async function inTime<T>(url: string, what: string, work: Promise<T>): Promise<T> {
  const ended = new AbortController();
  const hangs = async (): Promise<never> => {
    await sleep(PATIENCE_MS, undefined, { signal: ended.signal });
    const client = await connect(url);
    const { rows } = await client.query(
      `select application_name, state, wait_event, xact_start, query from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid()`,
    );
    await client.end();
    throw new Error(`not within ${PATIENCE_MS} ms: ${what}; the sessions: ${JSON.stringify(rows)}`);
  };
  try {
    return await Promise.race([work, hangs()]);
  } finally {
    ended.abort();
  }
}

/** Waits until nothing is live. Returns what is left when nothing has ended for four minutes, or all takes too long. */
export async function settleDown(client: pg.Client, windUp: () => Promise<void>): Promise<string[]> {
  const last = performance.now() + ENDING_MS;
  let least = Infinity;
  for (let end = performance.now() + PATIENCE_MS; performance.now() < Math.min(end, last); ) {
    const live = await numberOf(client, 'select count(*) from taskq.tasks');
    if (live === 0) return [];
    if (live < least) end = performance.now() + PATIENCE_MS;
    least = Math.min(least, live);
    await windUp();
    await sleep(200);
  }
  const [{ rows: tasks }, { rows: asks }, { rows: limits }] = [
    await client.query(
      `select id, queue, group_key, gate, status, available_at, lease_owner, attempts from taskq.tasks
       order by gate, id limit 5`,
    ),
    await client.query('select * from taskq.asks limit 5'),
    await client.query('select * from taskq.queue_limits join taskq.limit_states using (queue)'),
  ];
  return [`${least} tasks are stuck, such as ${JSON.stringify({ tasks, asks, limits })}`];
}

/** Checks what holds for every stress, and makes the table `witness.spans`: when each run began and ended. */
export async function checkRuns(client: pg.Client, find: Find, reach: Reach): Promise<void> {
  // A run without a record of its end ended with its process, with its lease, or with an error: the server may crash
  // after it committed the record of the start and before the handler learned of it.
  await client.query(`
    create table witness.spans as
    select e.queue, e.task, r.task_id, r.run, r.began_at, least(r.ended_at, k.at, failed.at) as ended_at
    from witness.runs r
    join witness.enqueued e using (task_id)
    left join lateral (select min(k.at) as at from witness.killed k where k.worker = r.worker) as k on true
    left join lateral (
      select min(l.failed_at) as at from taskq.task_errors l
      where l.task_id = r.task_id and l.failed_at > r.began_at
    ) as failed on true
  `);
  reach('runs', await numberOf(client, 'select count(*) from witness.spans'));
  reach('rescues', await numberOf(client, "select count(*) from taskq.task_errors where outcome = 'lost'"));
  await find(
    'tasks lost, or kept twice',
    `select e.task_id from witness.enqueued e
     left join (
       select id from taskq.finished_tasks union all select id from taskq.dead_tasks union all select id from taskq.tasks
     ) as k on k.id = e.task_id
     group by e.task_id having count(k.id) <> 1`,
  );
  await find(
    'completed tasks without a run',
    `select f.id from taskq.finished_tasks f
     where f.status = 'completed' and not exists (select from witness.runs r where r.task_id = f.id)`,
  );
}

/** Checks that the metrics count what became of all tasks, whoever was killed while it was written or folded. */
async function checkCounts(client: pg.Client, find: Find): Promise<void> {
  // Null, as long as a worker folds.
  for (let folded: number | null = null; folded !== 0; ) {
    const { rows } = await client.query<{ folded: number | null }>('select taskq.fold_counts() as folded');
    folded = rows[0]!.folded;
  }
  await find(
    'queues and types whose counts do not add up',
    `select queue, type, m.created, m.revived, m.completed, m.cancelled, m.expired, m.dead, live.tasks as live
     from (select * from taskq.metrics where span = 'all') as m
     full join (select queue, type, count(*) as tasks from taskq.tasks group by 1, 2) as live using (queue, type)
     where coalesce(m.created + m.revived, 0)
       <> coalesce(m.completed + m.cancelled + m.expired + m.dead, 0) + coalesce(live.tasks, 0)`,
  );
  await find(
    'queues and types that completed another number of tasks than was counted',
    `select queue, type, m.completed, kept.tasks
     from (select * from taskq.metrics where span = 'all') as m
     full join (
       select queue, type, count(*) as tasks from taskq.finished_tasks where status = 'completed' group by 1, 2
     ) as kept using (queue, type)
     where coalesce(m.completed, 0) <> coalesce(kept.tasks, 0)`,
  );
}
