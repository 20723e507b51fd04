import { setImmediate } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/lib/database.ts';
import { useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';

const queue = useDatabase();
const LOCK = 4711;

async function pipeline() {
  const db = openDatabase({
    databaseUrl: queue.url,
    maxConnections: 'pipeline',
    applicationName: 'pipeline',
  });
  onTestFinished(() => db.close());
  await queue.admin.rows('create table steps (n int generated always as identity, step text primary key)');
  onTestFinished(async () => void (await queue.admin.rows('drop table steps')));
  return {
    db,
    add: (step: string) =>
      db.query({
        name: 'add',
        text: 'insert into public.steps (step) values ($1) returning step',
        values: [step],
      }),
    /** Ends when the lock is free. */
    wait: () => db.query({ name: 'wait', text: `select from pg_advisory_xact_lock(${LOCK})` }),
    steps: () => queue.admin.rows('select step from steps order by n'),
    backends: () => queue.admin.rows("select pid from pg_stat_activity where application_name = 'pipeline'"),
  };
}

/** Keeps the lock until the function that it returns is called. */
async function locked(): Promise<() => Promise<unknown>> {
  const holder = await queue.session();
  await holder.rows(`select from pg_advisory_lock(${LOCK})`);
  return () => holder.rows(`select from pg_advisory_unlock(${LOCK})`);
}

/** Blocks this thread, which reads no answer meanwhile, until the query finds a row. */
function blockUntil(query: string): void {
  const state = new Int32Array(new SharedArrayBuffer(4));
  const thread = new Worker(
    `const { workerData: { url, query, state } } = require('node:worker_threads');
     const client = new (require('pg').Client)(url);
     const look = async () => (await client.query(query)).rowCount > 0 || look();
     client.connect().then(look).then(() => client.end()).then(
       () => { Atomics.store(state, 0, 1); Atomics.notify(state, 0); },
       () => { Atomics.store(state, 0, 2); Atomics.notify(state, 0); },
     );`,
    { eval: true, workerData: { url: queue.url, query, state } },
  );
  Atomics.wait(state, 0, 0, 60_000);
  void thread.terminate();
  expect(Atomics.load(state, 0)).toBe(1);
}

test('a pipeline runs statements on one connection in the order of the calls, each as soon as the one before ends', async () => {
  const { db, add, wait, steps, backends } = await pipeline();
  expect(db.isDirect).toBe(false);
  await add('first');
  expect(db.isDirect).toBe(true);
  const unlock = await locked();
  const answers = Promise.all([wait(), add('second')]);
  await waitUntilBlocked(queue.admin);
  expect(await steps()).toEqual([{ step: 'first' }]);
  const unlocked = unlock();
  await setImmediate(); // to let the driver send it
  blockUntil("select from public.steps where step = 'second'");
  await Promise.all([unlocked, answers]);
  expect(await steps()).toEqual([{ step: 'first' }, { step: 'second' }]);
  expect(await backends()).toHaveLength(1);
});

test('a statement that the server refuses undoes nothing of the others', async () => {
  const { add, steps } = await pipeline();
  await add('once');
  const ends = await Promise.allSettled([add('before'), add('once'), add('after')]);
  expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(await steps()).toEqual([{ step: 'once' }, { step: 'before' }, { step: 'after' }]);
});

test('when the connection breaks, all that it had to answer fails, and the next statement gets another', async () => {
  const { add, wait, steps } = await pipeline();
  const unlock = await locked();
  const ends = Promise.allSettled([wait(), add('lost')]);
  await waitUntilBlocked(queue.admin);
  await queue.admin.rows(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'pipeline'",
  );
  expect((await ends).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await add('next');
  expect(await steps()).toEqual([{ step: 'next' }]);
  await unlock();
});
