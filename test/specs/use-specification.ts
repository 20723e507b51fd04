import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, beforeEach } from 'vitest';
import { type EnqueueOptions, normaliseEnqueueOptions } from '../../src/domain/enqueue-options.ts';
import { type Enqueued, enqueue } from '../../src/queue/protocol/enqueue.ts';
import { findHandlerFiles } from '../../src/worker/handlers/find-handlers.ts';
import { type Row, silence } from '../queue/rows.ts';
import { type Session, useDatabase } from '../queue/session.ts';
import { waitUntil } from '../queue/waiting.ts';
import { knowTypes } from '../support/know-types.ts';
import { runCommand } from '../support/run-command.ts';
import type { RunOptions, TaskqResult } from '../support/run-taskq.ts';
import { killStartedTaskqs, type LogLine, type RunningTaskq, startTaskq } from '../support/start-taskq.ts';
import { TABLES as APPLICATION } from './tables.ts';

/** What a specification's tests have: a database, the application's tables in it, and the built binary. */
export interface Specification {
  readonly admin: Session;
  /** Enqueue a task as an application does. */
  enqueue(type: string, payload?: object, options?: EnqueueOptions): Promise<Enqueued>;
  /** Run a command to its end. */
  taskq(args: readonly string[], options?: RunOptions): Promise<TaskqResult>;
  /** Start a worker on the handlers of this specification. It looks for tasks of dead workers all the time. */
  work(args?: readonly string[], env?: Readonly<Record<string, string>>): RunningTaskq;
  /** The row of a task in `taskq.all_tasks`; fails where there is none. */
  task(id: string): Promise<Row>;
  /** Make a waiting task due: the row is moved, not the clock. */
  makeDue(id: string): Promise<void>;
  /** Keep everybody from a table of the application; returns what lets them in again. The test's end does too. */
  hold(table: string): Promise<() => Promise<unknown>>;
  /** How long a task waits after its latest failed attempt, in milliseconds. */
  latestDelayMs(id: string): Promise<number>;
}

/**
 * Give the tests of this file a database with tables of an application in the schema `app`, emptied before each test,
 * and workers with the handlers of the folder `handlers` beside the file at `here` (its `import.meta.url`).
 */
export function useSpecification(here: string, tables = APPLICATION): Specification {
  const database = useDatabase();
  const env = () => ({
    DATABASE_URL: database.url,
    TASKQ_HANDLERS: fileURLToPath(new URL('handlers', here)),
    TASKQ_POLL: '50ms',
    TASKQ_RESCUE: '50ms',
    TASKQ_HEARTBEAT: '100ms',
  });
  beforeAll(() => database.admin.client.query(tables));
  beforeEach(() => emptyTables(database.admin));
  // As if a worker with these handlers had been started once.
  beforeEach(async () => {
    const files = await findHandlerFiles(env().TASKQ_HANDLERS);
    await knowTypes(database.admin.client, ...files.keys());
  });
  afterEach(killStartedTaskqs);
  const holders: Session[] = [];
  afterEach(() => Promise.all(holders.splice(0).map((holder) => holder.rows('commit'))));
  return {
    get admin() {
      return database.admin;
    },
    enqueue: (type, payload = {}, options = {}) =>
      enqueue(database.admin, {
        type,
        payload: JSON.stringify(payload),
        options: normaliseEnqueueOptions(options),
      }),
    taskq: (args, options = {}) => runCommand(args, { ...options, env: { ...env(), ...options.env } }),
    work: (args = [], more = {}) => startTaskq(['work', ...args], { env: { ...env(), ...more } }),
    async task(id) {
      const row = await database.admin.row<Row>('select * from taskq.all_tasks where id = $1', id);
      if (row === undefined) throw new Error(`there is no task ${id}`);
      return row;
    },
    async makeDue(id) {
      const due =
        'update taskq.tasks set available_at = clock_timestamp() where id = $1 and lease_owner is null returning id';
      await database.admin.value(due, id);
    },
    async hold(table) {
      const holder = await database.session();
      holders.push(holder);
      await holder.rows('begin');
      await holder.rows(`lock table ${table}`);
      return () => holder.rows('commit');
    },
    async latestDelayMs(id) {
      const delay = `select extract(epoch from retry_at - failed_at) * 1000 as ms
        from taskq.task_errors where task_id = $1 order by failed_at desc limit 1`;
      return Number(await database.admin.value(delay, id));
    },
  };
}

/** Wait until a worker claims, so that what is enqueued next finds all that were started. */
export function claims(worker: RunningTaskq): Promise<LogLine> {
  return worker.waitForLog((line) => line.event === 'worker.started');
}

/** The lines of a log that an operator would look into. */
export function complaints(worker: RunningTaskq): readonly LogLine[] {
  return worker.logs().filter((line) => line.level !== 'info' && line.level !== 'debug');
}

/** Wait until this many attempts have failed. */
export function failures(worker: RunningTaskq, count: number): Promise<LogLine> {
  const failed = () => worker.logs().filter((line) => line.event === 'task.failed');
  return worker.waitForLog(() => failed().length >= count);
}

/** Wait until this many workers have a task that runs. */
export async function waitForRunning(session: Session, workers: number): Promise<void> {
  const running = "select count(distinct lease_owner) from taskq.tasks where status = 'running'";
  const isSo = async () => Number(await session.value(running)) === workers;
  await waitUntil(isSo, `there are not ${workers} workers with running tasks`);
}

/** Let a worker that was killed be silent, and its leases expired, for a while. */
export async function ageLeases(session: Session, { pid }: RunningTaskq): Promise<void> {
  const workerId = await session.value<number>('select id from taskq.workers where pid = $1', pid);
  await silence(session, workerId, 60_000);
  await session.rows(
    "update taskq.tasks set lease_expires_at = clock_timestamp() - interval '30 s' where lease_owner = $1",
    workerId,
  );
}

async function emptyTables(session: Session): Promise<void> {
  const tables = await session.rows<{ name: string }>(
    "select format('app.%I', tablename) as name from pg_tables where schemaname = 'app'",
  );
  if (tables.length > 0) await session.rows(`truncate ${tables.map(({ name }) => name).join(', ')}`);
}
