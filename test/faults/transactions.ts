import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { connect, deadlocksOf, numberOf, PATIENCE_MS, startWorker } from './chaos.ts';
import type { Found, Killable, Testbed } from './scenario.ts';

const WORKERS = 3;

const POINTS = ['begun', 'wrote', 'written', 'committing', 'committed'];
/** `session`: its connection is terminated. `backend`: `kill -9`, where the server is ours alone. */
const VICTIMS = ['worker', 'session', 'process', 'backend'];
const TYPES = ['book', 'book-apart'];

/**
 * Handlers write two rows in `ctx.transaction` and complete their tasks by it, while the worker, the handler's process
 * or the session of the transaction is killed at each of five points: before the first write, after it, after the last
 * one, during the commit, and after it. Each task is struck once, whatever runs then, and a round has forty of them, of
 * each kind one. At the end each completed task has its two rows, once, no other task has any, and none is lost.
 */
export async function transactions(testbed: Testbed, seconds: number): Promise<Found> {
  const { url, crash } = testbed;
  let admin = await connect(url, 'admin');
  await admin.query(WITNESS);
  const over = new AbortController();
  const working = Array.from({ length: WORKERS }, () => keepWorking(testbed, over.signal));
  const tasks = POINTS.flatMap((point) =>
    VICTIMS.flatMap((victim) => TYPES.map((type) => ({ type, payload: { point, victim } }))),
  );
  const faults: string[] = [];
  const ask = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
    for (;;) {
      try {
        return await work(admin);
      } catch (error) {
        if (crash === undefined) throw error;
        await admin.end().catch(() => {});
        admin = await connect(url, 'admin');
      }
    }
  };
  const count = (text: string) => ask((client) => numberOf(client, text));

  let [rounds, deadlocks] = [0, 0];
  for (const end = performance.now() + seconds * 1000; rounds === 0 || performance.now() < end; rounds++) {
    const enqueue = 'select from taskq.enqueue_many($1)';
    await ask((client) => client.query(enqueue, [JSON.stringify(tasks.sort(() => Math.random() - 0.5))]));
    if (await isStuck(() => count('select count(*) from taskq.tasks'))) {
      const { rows } = await ask((client) => client.query('select * from taskq.tasks order by id limit 3'));
      faults.push(`tasks are stuck, such as ${JSON.stringify(rows)}`);
      break;
    }
    deadlocks = Math.max(deadlocks, await ask(deadlocksOf));
  }
  over.abort();
  await Promise.all(working);

  for (const [what, text] of Object.entries(WRONG)) {
    const { rows } = await ask((client) => client.query(text));
    if (rows.length > 0) faults.push(`${rows.length} ${what}, such as ${JSON.stringify(rows.slice(0, 3))}`);
  }
  if (deadlocks > 0) faults.push(`${deadlocks} deadlocks`);
  const figures: Record<string, number> = {
    rounds,
    completed: await count("select count(*) from taskq.finished_tasks where status = 'completed'"),
    dead: await count('select count(*) from taskq.dead_tasks'),
    failedAttempts: await count("select count(*) from taskq.task_errors where outcome = 'failed'"),
    lostLeases: await count("select count(*) from taskq.task_errors where outcome = 'lost'"),
    unanswered: await count(
      "select count(*) from taskq.task_errors where error->>'code' = 'transaction_unanswered'",
    ),
    effects: await count('select count(*) from app.effects'),
  };
  for (const point of POINTS) {
    figures[`struck: ${point}`] = await count(`select count(*) from app.strikes where point = '${point}'`);
  }
  await admin.end();
  const struck = POINTS.map((point) => `struck: ${point}`);
  for (const what of ['completed', 'failedAttempts', 'lostLeases', ...struck])
    if (figures[what] === 0) faults.push(`not reached: ${what}`);
  return { faults, figures };
}

/** Starts a worker, and another one whenever it has ended, until the signal. */
async function keepWorking(testbed: Testbed, signal: AbortSignal): Promise<void> {
  let worker: Killable | undefined;
  signal.addEventListener('abort', () => worker?.kill('SIGKILL'));
  while (!signal.aborted) {
    worker = startWorker(
      testbed,
      ['--types', TYPES.join(), '--lease', '1s', '--poll', '100ms', '--concurrency', '2'],
      { TASKQ_RESCUE: '250ms', ...(testbed.crash !== undefined && { KILL_BACKENDS: 'yes' }) },
    );
    await worker.exit;
    // Not in a hurry where the server is starting again.
    await sleep(50);
  }
}

async function isStuck(left: () => Promise<number>): Promise<boolean> {
  let least = Infinity;
  for (let end = performance.now() + PATIENCE_MS; performance.now() < end; await sleep(50)) {
    const now = await left();
    if (now === 0) return false;
    if (now < least) end = performance.now() + PATIENCE_MS;
    least = Math.min(least, now);
  }
  return true;
}

const WITNESS = `
  create schema app;
  create table app.effects (task_id bigint not null, part integer not null);
  create table app.strikes (task_id bigint primary key, point text not null, victim text not null);
  create function app.take_time() returns trigger language plpgsql as $$
  begin
    perform pg_sleep(0.03);
    return null;
  end $$;
  create constraint trigger take_time after insert on app.effects deferrable initially deferred
    for each row when (new.part = 2) execute function app.take_time();
  select taskq.add_types('{${TYPES.join()}}');
  select taskq.set_defaults('{"max_attempts": 10, "backoff": {"kind": "fixed", "base_ms": 50}}');
`;

/** What must be nowhere, and finds it. */
const WRONG = {
  'completed tasks without their effects, or with them twice': `
    select f.id, array_agg(e.part) as parts from taskq.finished_tasks f
    left join app.effects e on e.task_id = f.id
    where f.status = 'completed' group by f.id having array_agg(e.part order by e.part) <> '{1,2}' or count(e.part) = 0`,
  'effects of tasks that have not completed': `
    select e.* from app.effects e
    where not exists (select from taskq.finished_tasks f where f.id = e.task_id and f.status = 'completed')`,
  'tasks lost, or kept twice': `
    select s.task_id from app.strikes s
    left join (
      select id from taskq.finished_tasks union all select id from taskq.dead_tasks union all select id from taskq.tasks
    ) as k on k.id = s.task_id
    group by s.task_id having count(k.id) <> 1`,
  'completed tasks with another result than that of their transaction': `
    select f.id, f.result from taskq.finished_tasks f where f.status = 'completed' and f.result ->> 'backend' is null`,
};
