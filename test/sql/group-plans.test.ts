import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Session, sessionOf } from '../queue/session.ts';
import { type Claimed, type PlainWorker, registerWorker, workerOf } from '../queue/worker.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { type Explained, explained, reportPlans } from './explained.ts';

/** The tasks that wait in the group, or were worked off there. */
const TASKS = Number(process.env.TASKQ_SCALE ?? 60_000);

/** A claim that gives a slot of one group; 20 pages for each thing it looks for, and what it writes. */
const MOST_PAGES = 200;

const VACUUMING = `select count(*)::integer from pg_stat_activity
  where datname = current_database() and backend_type = 'autovacuum worker'`;

let database: TestDatabase;
let admin: Session;
let worker: PlainWorker;
let other: PlainWorker;
let cursor: (number | null)[];

beforeAll(async () => {
  database = await createTestDatabase();
  admin = sessionOf(await database.client());
  const session = sessionOf(await database.client());
  worker = await registerWorker(session, { work: {} });
  other = workerOf(admin, worker.id);
  await admin.rows('update taskq.workers set lease_ms = 86400000');
  for (const table of ['tasks', 'asks']) {
    await admin.rows(`alter table taskq.${table} set (autovacuum_enabled = false)`);
  }
  await reportPlans(session);
}, 600_000);

afterAll(() => database.drop(), 600_000);

/** Waiting tasks of a group, put there directly. */
async function fill(key: string): Promise<void> {
  await admin.rows(
    `insert into taskq.tasks (type, payload, available_at, not_before, created_at, group_key, gate, status)
     select 'work', '{}', 'infinity', ts, ts, $1, 'w', 'blocked'
     from clock_timestamp() as ts, generate_series(1, $2::integer)`,
    key,
    TASKS,
  );
}

/** A claim where a group of two slots has one free, and a task to start. */
async function claimNext(key: string): Promise<Explained<Claimed[]>> {
  const tasks = Array.from({ length: 3 }, () => ({ type: 'work', group: key }));
  await admin.rows('select from taskq.enqueue_many($1)', JSON.stringify(tasks));
  await moveCursor();
  const [first, second] = await other.claim({ start: 2, cursor });
  await completed([first!]);
  const run = await explained(worker.session, () => worker.claim({ cursor }));
  await completed([second!, ...run.result]);
  return run;
}

/** Each level, and the asks, stand a second back. */
async function moveCursor(): Promise<void> {
  const at = Number(await admin.value('select (extract(epoch from clock_timestamp()) * 1000000)::bigint'));
  cursor = Array.from({ length: 22 }, (_, n) => (n % 2 === 0 ? at - 1_000_000 : 0));
}

function completed(tasks: readonly Claimed[]): Promise<unknown> {
  return admin.rows(
    'select from taskq.complete($1, $2, $3)',
    worker.id,
    tasks.map((task) => task.id),
    tasks.map((task) => task.lease_no),
  );
}

async function expectFew(key: string): Promise<void> {
  // Once before: what the catalogue, and dead rows that nothing has passed yet, cost at first.
  await claimNext(key);
  let run = await claimNext(key);
  // A plan is made anew at any time, as after a vacuum of the catalogue, and reads that of all partitions.
  for (let more = 2; more > 0 && run.pages >= MOST_PAGES; more--) run = await claimNext(key);
  expect(run.result).toHaveLength(1);
  expect(run.scanned).toEqual([]);
  expect(run.pages).toBeLessThan(MOST_PAGES);
}

test(`a claim that gives out a slot reads as little, whatever waits in the group`, async () => {
  await admin.rows(`select taskq.set_queue('default', '{"group_limit": 2}')`);
  for (let n = 0; n < 7; n++) await claimNext('empty');
  await fill('full');
  await expectFew('full');
  await admin.rows('analyze taskq.tasks, taskq.asks');
  await worker.session.rows('discard plans');
  await expectFew('full');
});

test('and whatever was worked off there before the last vacuum', async () => {
  await admin.rows("delete from taskq.tasks where group_key = 'full'");
  // One that analyzes another table has a snapshot, and keeps the vacuum from what was deleted.
  await expect.poll(() => admin.value(VACUUMING), { timeout: 60_000 }).toBe(0);
  await admin.rows('vacuum analyze taskq.tasks, taskq.asks');
  await worker.session.rows('discard plans');
  await expectFew('full');
});

test('housekeeping reads as little for a group, however many there are', async () => {
  const page = () => worker.session.rows('select taskq.revisit_groups(100, clock_timestamp())');
  for (let n = 0; n < 7; n++) await page();
  await admin.rows(
    `insert into taskq.tasks (type, payload, available_at, not_before, created_at, group_key, gate, status)
     select 'work', '{}', 'infinity', ts, ts, 'group ' || n % 10000, 'w', 'blocked'
     from clock_timestamp() as ts, generate_series(1, $1::integer) as n`,
    TASKS,
  );
  await page();
  expect((await explained(worker.session, page)).pages).toBeLessThan(100 * 30);
});

test('one ask is looked for by its primary key', async () => {
  // Where little is known of the table, an index of asks by group that fits as well would seem as good.
  await admin.rows('begin');
  await admin.rows('alter table taskq.asks drop constraint asks_pkey');
  await admin.rows('set local enable_seqscan = off');
  const plan = await admin.rows<{ 'QUERY PLAN': string }>(
    "explain select from taskq.asks where queue = 'default' and due_at = '2020-01-01' and id = 1",
  );
  await admin.rows('rollback');
  expect(plan.map((line) => line['QUERY PLAN']).join()).toContain('Filter: (queue');
});
