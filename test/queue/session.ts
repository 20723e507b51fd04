import type pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { Queryable } from '../../src/lib/database.ts';
import { createTestDatabase, type TestDatabase } from '../support/database.ts';
import { knowTypes } from '../support/know-types.ts';

/** One connection, with short ways to ask something. */
export interface Session extends Queryable {
  readonly client: pg.Client;
  rows<Row extends object>(text: string, ...values: readonly unknown[]): Promise<Row[]>;
  /** The first row; undefined: there is none. */
  row<Row extends object>(text: string, ...values: readonly unknown[]): Promise<Row | undefined>;
  /** The first column of the first row; fails where there is none. */
  value<T>(text: string, ...values: readonly unknown[]): Promise<T>;
}

/** A database of the test file, empty before each test. */
export interface QueueDatabase {
  /** The session in which tests prepare and look. */
  readonly admin: Session;
  readonly url: string;
  /** The server itself, past a pooler. */
  readonly directUrl: string;
  /** Opens a session that ends with the test: through a pooler, where this project has one. */
  session(): Promise<Session>;
  /** Opens one to the server itself, which can listen. */
  directSession(): Promise<Session>;
}

/** Makes a migrated database for the tests of this file. */
export function useDatabase(): QueueDatabase {
  let database: TestDatabase;
  let admin: Session;
  beforeAll(async () => {
    database = await createTestDatabase();
    admin = sessionOf(await database.client());
    // What a run took from disk is not of interest here; what a change of a setting costs is.
    await admin.rows('set synchronous_commit = off');
  });
  beforeEach(() => empty(admin));
  afterEach(() => endOthers(admin));
  afterAll(() => database.drop());
  return {
    get admin() {
      return admin;
    },
    get url() {
      return database.url;
    },
    get directUrl() {
      return database.directUrl;
    },
    session: async () => sessionOf(await database.userClient()),
    directSession: async () => sessionOf(await database.client()),
  };
}

/** Wraps a connection. */
export function sessionOf(client: pg.Client): Session {
  const rows = async <Row extends object>(text: string, ...values: readonly unknown[]) =>
    (await client.query<Row>(text, [...values])).rows;
  return {
    client,
    rows,
    query: async <Row extends object>({ text, values = [] }: Parameters<Queryable['query']>[0]) =>
      rows<Row>(text, ...values),
    row: async <Row extends object>(text: string, ...values: readonly unknown[]) =>
      (await rows<Row>(text, ...values))[0],
    value: async <T>(text: string, ...values: readonly unknown[]) => {
      const [row] = await rows<Record<string, T>>(text, ...values);
      if (row === undefined) throw new Error(`no row: ${text}`);
      return Object.values(row)[0]!;
    },
  };
}

/** A test that failed leaves transactions open, which would hold up the next one. */
async function endOthers(admin: Session): Promise<void> {
  await admin.rows('rollback');
  await admin.rows(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
  );
}

/** By `delete`: a truncate of all tables takes longer than most tests. */
async function empty(admin: Session): Promise<void> {
  await admin.client.query(`
    delete from taskq.tasks;
    delete from taskq.finished_tasks;
    delete from taskq.dead_tasks;
    delete from taskq.task_errors;
    delete from taskq.task_logs;
    delete from taskq.leases;
    delete from taskq.events;
    delete from taskq.followed;
    delete from taskq.held_keys;
    delete from taskq.asks;
    delete from taskq.workflows;
    delete from taskq.workflow_asks;
    delete from taskq.groups;
    delete from taskq.group_rates;
    delete from taskq.breakers;
    delete from taskq.breaker_events;
    delete from taskq.queues;
    delete from taskq.queue_limits;
    delete from taskq.recorded_queues;
    delete from taskq.limit_states;
    delete from taskq.schedules;
    delete from taskq.task_types;
    delete from taskq.workers;
    delete from taskq.audit;
    delete from taskq.operations;
    delete from taskq.operation_tasks;
    delete from taskq.idle_marks;
    delete from taskq.rescue_scan;
    insert into taskq.rescue_scan default values;
    delete from taskq.housekeeping;
    insert into taskq.housekeeping default values;
    delete from taskq.counts;
    delete from taskq.metrics;
    delete from taskq.heartbeat_delays;
    delete from taskq.sample;
    delete from taskq.sampling;
    insert into taskq.sampling default values;
    delete from taskq.defaults;
    insert into taskq.defaults default values;
    set constraints all immediate;
    delete from taskq.past_settings;
  `);
  // What the tests enqueue when they say nothing else.
  await knowTypes(admin.client, 'work');
}
