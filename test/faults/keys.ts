import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { connect, deadlocksOf, numberOf, startWorker, terminateSession } from './chaos.ts';
import type { Found, Killable, Testbed } from './scenario.ts';

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];
const PRODUCERS = 20;
const WORKERS = 6;

/** Between two of these all is left to come to rest, and looked at. */
const ROUND_MS = 4000;
/** A machine so busy that a round reaches too little gets more of them. */
const MOST_ROUNDS_MORE = 5;
/** One in so many transactions. */
const ROLLED_BACK = 20;
const CANCELLED = 30;
const KILL_MS = 150;
/** Within this time after the last event all have run: the lease of a killed worker has to run out first. */
const REST_MS = 60_000;

/**
 * Producers replace tasks of the same few keys, some in bulks of several keys, some in transactions that stay open for
 * a moment or are rolled back, and cancel some, while the sessions of producers and workers are terminated, workers are
 * killed, and the server crashes. Each event is numbered in its transaction, after it was enqueued and so under the lock
 * of its key: the events of a key have the order of their commits. Whenever all is at rest, the last event of each key
 * must be the last that ran, unless it was cancelled.
 */
export async function keys(testbed: Testbed, seconds: number): Promise<Found> {
  const { url, crash } = testbed;
  let admin = await connect(url, 'admin');
  await admin.query(`
    create schema app;
    create table app.counters (key text primary key, n integer not null);
    create table app.events (id bigint primary key, key text not null, n integer not null);
    create table app.cancelled (event bigint primary key);
    create table app.runs (at bigint generated always as identity, task_id bigint not null, event bigint not null);
    insert into app.counters select key, 0 from unnest('{${KEYS}}'::text[]) as key;
    insert into taskq.task_types (name, first_seen_at, last_seen_at) values ('event', now(), now());
  `);
  const figures = {
    ...{ events: 0, created: 0, held: 0, replaced: 0, again: 0, rolled_back: 0, cancelled: 0, broken: 0 },
  };
  const faults: string[] = [];
  let [killedWorkers, crashes, deadlocks, rounds, latestRestMs] = [0, 0, 0, 0, 0];
  const work = () => startWorker(testbed, ['--lease', '2s', '--poll', '100ms', '--concurrency', '4']);
  const workers: Killable[] = Array.from({ length: WORKERS }, work);

  const isReached = () => TO_REACH.every((what) => figures[what] > 0);
  for (
    let leftMs = seconds * 1000;
    leftMs > 0 || (!isReached() && leftMs > -MOST_ROUNDS_MORE * ROUND_MS);
    leftMs -= ROUND_MS
  ) {
    const over = new AbortController();
    const producing = Array.from({ length: PRODUCERS }, () => produce(url, figures, over.signal));
    const roundEnd = performance.now() + (leftMs > 0 ? Math.min(leftMs, ROUND_MS) : ROUND_MS);
    for (let nth = 1; performance.now() < roundEnd; nth++) {
      await sleep(KILL_MS);
      if (crash !== undefined && crashes === 0 && leftMs <= seconds * 500) {
        deadlocks += await deadlocksOf(admin);
        await admin.end().catch(() => {});
        await crash();
        crashes += 1;
        admin = await connect(url, 'admin');
      }
      await terminateSession(admin, nth % 2 === 0 ? 'producer' : 'taskq%');
      if (nth % 10 === 0) {
        const which = nth % WORKERS;
        workers[which]!.kill('SIGKILL');
        workers[which] = work();
        killedWorkers += 1;
      }
    }
    over.abort();
    await Promise.all(producing);
    const began = performance.now();
    faults.push(...(await faultsAtRest(admin)));
    latestRestMs = Math.max(latestRestMs, performance.now() - began);
    rounds += 1;
  }

  for (const worker of workers) worker.kill('SIGTERM');
  await Promise.all(workers.map(({ exit }) => exit));
  deadlocks += await deadlocksOf(admin);
  if (deadlocks > 0) faults.push(`${deadlocks} deadlocks`);
  const runs = await numberOf(admin, 'select count(*) from app.runs');
  await admin.end();
  for (const what of TO_REACH) {
    if (figures[what] === 0) faults.push(`no event was ${what}: the scenario reached too little`);
  }
  return {
    faults,
    figures: {
      ...figures,
      runs,
      rounds,
      killedWorkers,
      crashes,
      deadlocks,
      latestRestMs: Math.round(latestRestMs),
    },
  };
}

type Figures = Record<
  'events' | 'created' | 'held' | 'replaced' | 'again' | 'rolled_back' | 'cancelled' | 'broken',
  number
>;

const TO_REACH = ['created', 'replaced', 'again', 'rolled_back', 'cancelled', 'broken'] as const;

/** Enqueues events until the signal, each time in a transaction. A session that is terminated is opened again. */
async function produce(url: string, figures: Figures, over: AbortSignal): Promise<void> {
  let client = await connect(url, 'producer');
  while (!over.aborted) {
    try {
      if (Math.random() < 1 / CANCELLED) await cancelOne(client, figures);
      else await produceOnce(client, figures);
    } catch (error) {
      // Terminated, or the server is down: the commit may have been lost with the answer, so nothing is counted of it
      // here. Or a cancel found its task locked by another producer.
      if (!isBroken(error)) throw error;
      figures.broken += 1;
      await client.end().catch(() => {});
      client = await connect(url, 'producer');
    }
    await sleep(Math.random() * 20);
  }
  await client.end().catch(() => {});
}

async function produceOnce(client: pg.Client, figures: Figures): Promise<void> {
  const keys = KEYS.toSorted(() => Math.random() - 0.5).slice(0, Math.random() < 0.3 ? 4 : 1);
  const events = keys.map(() => Math.floor(Math.random() * Number.MAX_SAFE_INTEGER));
  const on_held = Math.random() < 0.5 ? 'replace' : 'preserve';
  const delay_ms = Math.random() < 0.3 ? 50 : 0;
  await client.query('begin');
  const tasks = JSON.stringify(keys.map((key, nth) => ({ key, payload: { event: events[nth] } })));
  const { rows } = await client.query<{ created: boolean; answer: keyof Figures | null }>(
    `select created, extra ->> 'answer' as answer from taskq.enqueue_many($1, $2)`,
    [tasks, { type: 'event', on_held, delay_ms }],
  );
  await client.query(
    `with counted as (update app.counters set n = n + 1 where key = any ($2) returning key, n)
     insert into app.events
     select event.id, key, counted.n from unnest($1::bigint[], $2::text[]) as event (id, key) join counted using (key)`,
    [events, keys],
  );
  if (Math.random() < 0.05) await sleep(100);
  if (Math.random() < 1 / ROLLED_BACK) {
    await client.query('rollback');
    figures.rolled_back += 1;
    return;
  }
  await client.query('commit');
  figures.events += keys.length;
  for (const { created, answer } of rows) figures[created ? 'created' : (answer ?? 'held')] += 1;
}

/** Cancels a task that no worker has, and notes its event: the one that it has when it is cancelled. */
async function cancelOne(client: pg.Client, figures: Figures): Promise<void> {
  await client.query('begin');
  const { rows } = await client.query<{ id: string }>(
    `select id from taskq.cancel(array(
       select id from taskq.tasks where lease_owner is null and unique_key is not null order by random() limit 1
     )) where answer = 'cancelled'`,
  );
  await client.query(
    `insert into app.cancelled select (payload -> 'event')::bigint from taskq.finished_tasks where id = any ($1)`,
    [rows.map(({ id }) => id)],
  );
  await client.query('commit');
  figures.cancelled += rows.length;
}

/** Waits until no task is left, and returns what is wrong then. */
async function faultsAtRest(admin: pg.Client): Promise<string[]> {
  const end = performance.now() + REST_MS;
  while ((await numberOf(admin, 'select count(*) from taskq.tasks')) > 0) {
    if (performance.now() > end)
      return [`${await numberOf(admin, 'select count(*) from taskq.tasks')} tasks are stuck`];
    await sleep(50);
  }
  const { rows } = await admin.query<Key>(
    `select c.key, c.n, max(ran.n) as most, (array_agg(ran.n order by ran.at desc))[1] as last,
       exists (
         select from app.events e join app.cancelled k on k.event = e.id where e.key = c.key and e.n = c.n
       ) as is_cancelled
     from app.counters c
     left join (select e.key, e.n, r.at from app.events e join app.runs r on r.event = e.id) as ran on ran.key = c.key
     where c.n > 0
     group by c.key, c.n
     order by c.key`,
  );
  const unknown =
    'select count(*) from app.runs r where not exists (select from app.events e where e.id = r.event)';
  const rolledBack = await numberOf(admin, unknown);
  return [
    ...(rolledBack > 0 ? [`${rolledBack} runs of events that were rolled back`] : []),
    ...rows.flatMap(({ key, n, last, most, is_cancelled }) => [
      ...(most === n || is_cancelled
        ? []
        : [`event ${n} of key ${key} was lost; the last that ran is ${most}`]),
      ...(last === most ? [] : [`event ${last} of key ${key} ran last, after event ${most}`]),
    ]),
  ];
}

/** A key at rest: how many events it has had, and which of them ran last, and is the latest that ran. */
interface Key {
  readonly key: string;
  readonly n: number;
  readonly last: number | null;
  readonly most: number | null;
  /** The last event was. */
  readonly is_cancelled: boolean;
}

function isBroken(error: unknown): boolean {
  const { code, message } = error as { code?: string; message: string };
  return (
    /^(57P0|55P03)/.test(code ?? '') ||
    /Connection terminated|ECONNRESET|EPIPE|not queryable/.test(`${code} ${message}`)
  );
}
