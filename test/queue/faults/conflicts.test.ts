import { afterAll, expect, test } from 'vitest';
import { type Database, openDatabase } from '../../../src/lib/database.ts';
import type { SqlValue } from '../../../src/lib/session-types.ts';
import { type Random, randomOf } from '../random.ts';
import { enqueueSome } from '../rows.ts';
import { type QueueDatabase, type Session, useDatabase } from '../session.ts';
import { LEASE_MS, type Lease, outcome, registerWorker } from '../worker.ts';

const queue = useDatabase();

const CLIENTS = 16;
/** Of four clients each: they share its leases, as the connections of one process do. */
const WORKERS = 4;
const TASKS = 300;
const STEPS = Number(process.env.TASKQ_STEPS ?? 40);

/** A lease, and whose it is. */
interface Held extends Lease {
  readonly worker: number;
}

/** What all clients know and do, in any order and all at once. */
interface Turmoil {
  readonly database: Database;
  readonly ids: string[];
  readonly leases: Held[];
  /** By lease, the outcomes that were answered `recorded`. */
  readonly recorded: Map<string, string[]>;
  readonly rescued: object[];
  /** Codes of errors. */
  readonly refused: string[];
}

const KINDS = ['completed', 'failed', 'dead', 'snoozed', 'cancelled'] as const;

/** Each verb over a random part of the same tasks; overlapping sets, in any order. */
const VERBS: readonly ((turmoil: Turmoil, random: Random, worker: number) => Promise<void>)[] = [
  claim,
  claim,
  settle,
  settle,
  settle,
  ({ database, leases }, random, worker) => {
    const some = namedBy(worker, leases, random, 40);
    const values = [
      worker,
      some.map((it) => it.id),
      some.map((it) => it.lease_no),
      some.map(() => 5),
      LEASE_MS,
    ];
    return run(database, 'select from taskq.heartbeat($1, $2, $3, $4, $5)', values);
  },
  ({ database, leases }, random, worker) => {
    const some = namedBy(worker, leases, random, 20);
    const values = [
      worker,
      some.map((it) => it.id),
      some.map((it) => it.lease_no),
      some.map(() => random.next() < 0.5),
    ];
    return run(database, 'select from taskq.give_back($1, $2, $3, $4)', values);
  },
  ({ database, ids }, random) => run(database, 'select from taskq.cancel($1)', [random.some(ids, 10)]),
  ({ database, ids }, random) =>
    run(database, `select from taskq.revive($1, '{"delay_ms": 0}')`, [random.some(ids, 60)]),
  ({ database, ids }, random) => run(database, "select taskq.add_dead($1, 'by hand')", [random.pick(ids)]),
  rescue,
  rescue,
  ({ database }) => run(database, 'select taskq.expire(5)', []),
  ({ database }) => run(database, 'select taskq.maintain()', []),
  async ({ database, ids }, random) => {
    const tasks = Array.from({ length: 15 }, () => ({
      type: 'work',
      key: `k${random.below(60)}`,
      key_for: random.pick(['live', 'live', '24h']),
    }));
    const rows = await database.query<{ id: string; created: boolean }>({
      text: 'select id, created from taskq.enqueue_many($1)',
      values: [JSON.stringify(tasks)],
    });
    ids.push(...rows.filter((row) => row.created).map((row) => row.id));
  },
];

async function run(database: Database, text: string, values: readonly SqlValue[]): Promise<void> {
  await database.query({ text, values });
}

/** Leases of that worker, and some of anybody: what is not its own it may not touch. */
function namedBy(worker: number, leases: readonly Held[], random: Random, count: number): Held[] {
  const own = leases.filter((lease) => lease.worker === worker);
  return [...new Set([...random.some(own, count), ...random.some(leases, count / 4)])];
}

async function claim({ database, leases }: Turmoil, random: Random, worker: number): Promise<void> {
  const rows = await database.query<Lease>({
    text: "select id, lease_no from taskq.claim($1, '{default}', '{work}', $2, $3, $4)",
    values: [worker, random.below(10), random.below(10), LEASE_MS],
  });
  leases.push(...rows.map((row) => ({ ...row, worker })));
}

/** After some leases have run out. */
async function rescue({ database, leases, rescued }: Turmoil, random: Random, worker: number): Promise<void> {
  const age = `update taskq.tasks set lease_expires_at = clock_timestamp() - interval '1 s'
    where id = $1 and lease_owner is not null`;
  for (const { id } of random.some(leases.slice(-30), 5)) await run(database, age, [id]);
  const text = 'select id from taskq.rescue(0, 100000, $1)';
  rescued.push(...(await database.query<{ id: string }>({ text, values: [worker] })));
}

async function settle(
  { database, leases, recorded }: Turmoil,
  random: Random,
  worker: number,
): Promise<void> {
  const kindsByLease = new Map(
    namedBy(worker, leases, random, 40).map((lease) => [`${lease.id}/${lease.lease_no}`, random.pick(KINDS)]),
  );
  const outcomes = [...kindsByLease].map(([key, kind]) => {
    const [id, no] = key.split('/');
    return outcome({ id: id!, lease_no: Number(no) }, kind, { delay_ms: 0, error: {}, reason: 'r' });
  });
  const answers = await database.query<Lease & { answer: string }>({
    text: 'select id, lease_no, answer from taskq.settle($1, $2)',
    values: [worker, JSON.stringify(outcomes)],
  });
  expect(answers).toHaveLength(kindsByLease.size);
  for (const { id, lease_no, answer } of answers) {
    const key = `${id}/${lease_no}`;
    if (answer === 'recorded') recorded.set(key, [...(recorded.get(key) ?? []), kindsByLease.get(key)!]);
  }
}

/** Locks one random row at a time for a moment: an application that edits tasks. */
async function lockRows(
  session: Session,
  random: Random,
  ids: readonly string[],
  stop: AbortSignal,
): Promise<number> {
  let locked = 0;
  while (!stop.aborted) {
    await session.rows('begin');
    await session.rows('update taskq.tasks set tags = \'{"edited": "yes"}\' where id = $1', random.pick(ids));
    await session.rows('select pg_sleep($1)', random.next() / 50);
    await session.rows('commit');
    locked++;
  }
  return locked;
}

async function setIsolation(admin: Session, isolation: string): Promise<void> {
  const name = await admin.value<string>('select current_database()');
  await admin.rows(`alter database ${name} set default_transaction_isolation = '${isolation}'`);
}

async function stir(on: QueueDatabase, isolation: string): Promise<Turmoil> {
  await setIsolation(on.admin, isolation);
  const database = openDatabase({ databaseUrl: on.url, maxConnections: CLIENTS, applicationName: 'turmoil' });
  const turmoil: Turmoil = {
    database,
    ids: await enqueueSome(on.admin, TASKS),
    leases: [],
    recorded: new Map(),
    rescued: [],
    refused: [],
  };
  const stop = new AbortController();
  const application = await on.session();
  await application.rows("set default_transaction_isolation = 'read committed'");
  const hostile = lockRows(application, randomOf(99), turmoil.ids, stop.signal);
  const workers: number[] = [];
  for (let n = 0; n < WORKERS; n++) workers.push((await registerWorker(on.admin)).id);
  const clients = Array.from({ length: CLIENTS }, async (_, n) => {
    const worker = workers[n % WORKERS]!;
    const random = randomOf(n + 1);
    for (let step = 0; step < STEPS; step++) {
      try {
        await random.pick(VERBS)(turmoil, random, worker);
      } catch (error) {
        turmoil.refused.push((error as { code?: string }).code ?? String(error));
      }
    }
  });
  await Promise.all(clients);
  stop.abort();
  expect(await hostile).toBeGreaterThan(0);
  await database.close();
  return turmoil;
}

test.each(['read committed', 'serializable'])(
  'sixteen clients that settle, cancel, retry and rescue the same tasks never deadlock, and count nothing twice (%s)',
  async (isolation) => {
    const { ids, recorded, rescued, refused } = await stir(queue, isolation);

    // Cancel, revive and add_dead wait for a row at most a second; nothing else may be refused at all.
    expect(refused.filter((code) => code !== '55P03')).toEqual([]);
    const where = await queue.admin.rows<{ id: string; count: number }>(
      'select id, count(*)::int from taskq.all_tasks group by id',
    );
    expect(where.filter((row) => row.count !== 1)).toEqual([]);
    expect(where.map((row) => row.id).toSorted()).toEqual(ids.toSorted());

    expect([...recorded.values()].filter((kinds) => kinds.length > 1)).toEqual([]);
    const failures = [...recorded]
      .filter(([, [kind]]) => kind === 'failed' || kind === 'dead')
      .map(([lease]) => lease);
    const noted = await queue.admin.rows<{ lease: string }>(
      "select task_id || '/' || lease_no as lease from taskq.task_errors where outcome in ('failed', 'dead')",
    );
    expect(noted.map((row) => row.lease).toSorted()).toEqual(failures.toSorted());
    const completed = [...recorded].filter(([, [kind]]) => kind === 'completed').map(([lease]) => lease);
    const finished = await queue.admin.rows<{ lease: string }>(
      "select id || '/' || lease_no as lease from taskq.finished_tasks where status = 'completed'",
    );
    expect(finished.map((row) => row.lease).toSorted()).toEqual(completed.toSorted());

    for (const kind of KINDS) expect([...recorded.values()].flat()).toContain(kind);
    expect(rescued.length).toBeGreaterThan(0);
  },
);

afterAll(async () => {
  // Other sessions tell the statistics of their errors at the latest when they end, and they have.
  const deadlocks = 'select deadlocks::int from pg_stat_database where datname = current_database()';
  expect(await queue.admin.value(deadlocks)).toBe(0);
});
