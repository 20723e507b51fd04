import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { runCommand } from '../../support/run-command.ts';
import type { TaskqResult } from '../../support/run-taskq.ts';
import { REPOSITORY } from '../../support/spawn-taskq.ts';
import {
  killStartedTaskqs,
  type LogLine,
  lastWords,
  type RunningTaskq,
  startTaskq,
} from '../../support/start-taskq.ts';

export type Row = Readonly<Record<string, unknown>>;

/** An event recorded by a handler in `test/worker/handlers`, over its own connection. */
export interface Witnessed {
  readonly task_id: string;
  readonly event: string;
  readonly attempt: number;
  readonly pid: number;
  readonly note: unknown;
}

export interface WorkOptions {
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Another URL for the database. */
  readonly url?: string;
  /** `test/worker/handlers` by default. */
  readonly handlers?: string;
}

const HANDLERS = join(REPOSITORY, 'test/worker/handlers');

/** Asked again and again, and so planned once: the view has a plan that costs five times what running it does. */
const STATUS = { name: 'status', text: 'select status::text from taskq.all_tasks where id = $1' };

const LIVE = { name: 'live', text: 'select from taskq.tasks where id = $1' };

/** Short intervals: a lease of 2 s, and the rest in proportion. */
const PROFILE = { TASKQ_LEASE: '2s', TASKQ_HEARTBEAT: '500ms', TASKQ_RESCUE: '500ms', TASKQ_POLL: '200ms' };

/**
 * Creates a database for each test of the file, or for all that are beside the call, and starts daemons on it; both are
 * removed after the test, or the last one.
 */
export function useWorkers(per: 'test' | 'file' = 'test') {
  let database: TestDatabase;
  let admin: pg.Client;
  const [before, after] = per === 'test' ? [beforeEach, afterEach] : [beforeAll, afterAll];

  before(async () => {
    database = await createTestDatabase();
    admin = await database.client();
    await admin.query(
      `create table witness (
        n bigint generated always as identity, task_id bigint, event text, attempt integer, pid integer, note jsonb,
        at timestamptz not null default clock_timestamp()
      )`,
    );
  });
  after(async () => {
    await killStartedTaskqs();
    await database.drop();
  });

  // One statement at a time, because tests issue many at once.
  let last: Promise<unknown> = Promise.resolve();
  const ask = <T extends pg.QueryResultRow>(query: pg.QueryConfig): Promise<pg.QueryResult<T>> => {
    const answer = last.then(() => admin.query<T>(query));
    last = answer.catch(() => {});
    return answer;
  };
  const rows = async <T extends object = Row>(text: string, ...values: unknown[]): Promise<T[]> =>
    (await ask<T>({ text, values })).rows;
  const value = async <T>(text: string, ...values: unknown[]): Promise<T> =>
    Object.values((await ask({ text, values })).rows[0]!)[0] as T;

  const silence = async ({ worker_id }: LogLine) => {
    await rows(
      "update taskq.workers set heartbeat_at = clock_timestamp() - interval '1 hour' where id = $1",
      worker_id,
    );
    await rows(
      "update taskq.tasks set lease_expires_at = clock_timestamp() - interval '1 hour' where lease_owner = $1",
      worker_id,
    );
  };

  return {
    get url() {
      return database.url;
    },
    rows,
    value,

    /** Opens another session. */
    session: () => database.client(),

    /** Starts `taskq work` with these arguments. */
    work(args: readonly string[] = [], { env, url, handlers = HANDLERS }: WorkOptions = {}): RunningTaskq {
      return startTaskq(['work', '--handlers', handlers, ...args], {
        env: {
          DATABASE_URL: url ?? database.url,
          WITNESS_URL: database.url,
          TASKQ_LOG_LEVEL: 'debug',
          ...PROFILE,
          ...env,
        },
      });
    },

    /** Runs another command to completion on the same database. */
    run: (...args: readonly string[]): Promise<TaskqResult> =>
      runCommand(args, { env: { DATABASE_URL: database.url } }),

    /** Enqueues one task and returns its id. By default it is retried after 50 ms. */
    enqueue: (type: string, payload: unknown = {}, options: object = {}): Promise<string> =>
      value('select id from taskq.enqueue($1, $2, $3)', type, JSON.stringify(payload), {
        backoff: { kind: 'fixed', base_ms: 50 },
        allow_unknown: true,
        ...options,
      }),

    /** Enqueues this many identical tasks in one statement. */
    async enqueueSome(count: number, type: string, payload: unknown = {}, options: object = {}) {
      const tasks = JSON.stringify(Array.from({ length: count }, () => ({ type, payload })));
      const made = await rows<{ id: string }>(
        'select id from taskq.enqueue_many($1, $2) order by place',
        tasks,
        { allow_unknown: true, ...options },
      );
      return made.map(({ id }) => id);
    },

    /** The task, wherever its row is. Fails if it is in two places, or in none. */
    async task(id: string): Promise<Row> {
      const found = await rows('select * from taskq.all_tasks where id = $1', id);
      if (found.length !== 1) throw new Error(`task ${id} is in ${found.length} places`);
      return found[0]!;
    },

    /** Waits until the task has this status. */
    hasStatus: (id: string, status: string, limitMs?: number) =>
      until(
        // No row: it moved, while the statement was planned, to a partition made since.
        async () => (await ask<{ status: string }>({ ...STATUS, values: [id] })).rows[0]?.status === status,
        async () =>
          `task ${id} is not ${status}: ${JSON.stringify(await rows('select * from taskq.all_tasks where id = $1', id))}`,
        limitMs,
      ),

    /** Waits until the task is live no longer. */
    ended: (id: string, limitMs?: number) =>
      until(
        async () => (await ask({ ...LIVE, values: [id] })).rows.length === 0,
        async () =>
          `task ${id} is live: ${JSON.stringify(await rows('select * from taskq.tasks where id = $1', id))}`,
        limitMs,
      ),

    /** Waits until no task is live. */
    drained: (limitMs?: number) =>
      until(
        async () => (await value('select count(*) from taskq.tasks')) === '0',
        async () =>
          `still live: ${JSON.stringify(await rows('select * from taskq.tasks order by id limit 5'))}`,
        limitMs,
      ),

    /** Waits until this many live tasks have been claimed, including those given back since. */
    claimed: (count: number) =>
      until(
        async () =>
          (await value<number>('select count(*)::integer from taskq.tasks where lease_no > 0')) >= count,
        async () =>
          `not ${count} are claimed: ${JSON.stringify(await rows('select id, status, lease_no from taskq.tasks limit 20'))}`,
      ),

    /** The number of tasks by status. */
    async counts(): Promise<Record<string, number>> {
      const found = await rows<{ status: string; count: number }>(
        'select status::text, count(*)::integer from taskq.all_tasks group by 1',
      );
      return Object.fromEntries(found.map(({ status, count }) => [status, count]));
    },

    /** The recorded events of a task, or of all by default, in order. */
    witnessed: (id?: string): Promise<Witnessed[]> =>
      rows<Witnessed>(
        'select task_id, event, attempt, pid, note from witness where $1::bigint is null or task_id = $1 order by n',
        id ?? null,
      ),

    /** Lets every claim wait from now on. Returns how to wait until one does, and how to let them go on. */
    async holdClaims() {
      const other = await database.client();
      await other.query("alter function taskq.claim set lock_timeout = '1min'");
      await other.query(`create function hold() returns trigger language plpgsql as $$
        begin
          perform pg_advisory_xact_lock(7);
          return new;
        end $$`);
      await other.query(`create trigger hold before update on taskq.tasks
        for each row when (new.lease_owner is distinct from old.lease_owner) execute function hold()`);
      await other.query('select pg_advisory_lock(7)');
      const waits = `select exists (
        select from pg_locks where locktype = 'advisory' and not granted
          and database = (select oid from pg_database where datname = current_database())
      )`;
      return {
        untilOneWaits: () =>
          until(
            () => value(waits),
            async () => 'no claim waits',
          ),
        release: () => other.query('select pg_advisory_unlock(7)'),
      };
    },

    /** Records an event for a task, for a handler that waits for it. */
    witness: (id: string, what: string) =>
      rows('insert into witness (task_id, event) values ($1, $2)', id, what),

    /** Makes all leases of a worker run out and its last heartbeat old, as waiting would. */
    silence,

    /**
     * Rescues all tasks that a silent worker holds, once each: it may claim them again at once. Repeats if the server
     * still processes an earlier heartbeat.
     */
    async robbed(worker: LogLine): Promise<void> {
      const held = await rows<{ id: string; lease_no: number }>(
        'select id, lease_no from taskq.tasks where lease_owner = $1',
        worker.worker_id,
      );
      const remaining = () =>
        rows(
          `select from taskq.tasks t join unnest($1::bigint[], $2::integer[]) as h (id, lease_no)
           on t.id = h.id and t.lease_no = h.lease_no and t.lease_owner = $3`,
          held.map(({ id }) => id),
          held.map(({ lease_no }) => lease_no),
          worker.worker_id,
        );
      await until(
        async () => {
          await silence(worker);
          await rows(
            `select from taskq.rescue(0, 1000000, options => (
              select jsonb_build_object('watched', jsonb_object_agg(id, (extract(epoch from heartbeat_at) * 1000000)::bigint))
              from taskq.workers
            ))`,
          );
          return (await remaining()).length === 0;
        },
        async () => JSON.stringify(await remaining()),
      );
    },

    /** Waits until this event of the task has been recorded this often. */
    saw: (id: string, event: string, { times = 1, limitMs }: { times?: number; limitMs?: number } = {}) =>
      until(
        async () =>
          (await value<number>(
            'select count(*)::integer from witness where task_id = $1 and event = $2',
            id,
            event,
          )) >= times,
        async () =>
          `"${event}" of task ${id} was not witnessed ${times} times: ${JSON.stringify(
            await rows('select * from witness where task_id = $1 order by n', id),
          )} ${JSON.stringify(await rows('select * from taskq.all_tasks where id = $1', id))}`,
        limitMs,
      ),

    /** The errors of a task's attempts, oldest first. */
    errors: (id: string) =>
      rows<{ attempt: number; outcome: string; error: { name: string; message: string; stack: string } }>(
        'select attempt, outcome, error from taskq.task_errors where task_id = $1 order by failed_at',
        id,
      ),
  };
}

/**
 * Polls every few milliseconds until it is so; fails with `why` after `limitMs` (120 s, far more than a busy
 * machine takes).
 */
export async function until(
  isSo: () => Promise<boolean>,
  why: () => Promise<string>,
  limitMs = 120_000,
): Promise<void> {
  const end = performance.now() + limitMs;
  while (!(await isSo())) {
    if (performance.now() > end) throw new Error(`${await why()}\n${lastWords()}`);
    await sleep(20);
  }
}

/** Matches a log line of this event, and of this task if one is given. */
export function event(name: string, taskId?: string): (line: LogLine) => boolean {
  return (line) => line.event === name && (taskId === undefined || line.task_id === taskId);
}

/** The log lines of this event. */
export function eventsOf(worker: RunningTaskq, name: string, taskId?: string): readonly LogLine[] {
  return worker.logs().filter(event(name, taskId));
}
