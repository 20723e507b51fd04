import pg from 'pg';
import type { TaskContext } from 'taskq';

/*
 * What handlers have of their own application: connections that the queue knows nothing of. What they leave in the
 * database proves what has run.
 */

/** What the handlers of most specifications need. */
export const TABLES = `
  create schema app;
  create table app.witness (
    task_id bigint not null,
    event text not null,
    attempt integer not null,
    pid integer not null,
    at timestamptz not null default clock_timestamp()
  );
  create table app.gate ();
  create table app.outages (type text primary key);
`;

/** Run a statement outside the queue and return its rows. */
export async function sql<Row extends object>(text: string, ...values: readonly unknown[]): Promise<Row[]> {
  pool ??= new pg.Pool({ connectionString: process.env.DATABASE_URL ?? '', max: 8 });
  return (await pool.query<Row>(text, [...values])).rows;
}

let pool: pg.Pool | undefined;

/** Testify that a task was here. */
export async function witness({ id, attempt }: TaskContext, event: 'begun' | 'done'): Promise<void> {
  await sql('insert into app.witness values ($1, $2, $3, $4)', id, event, attempt, process.pid);
}

/** Wait for as long as a test holds `app.gate`. */
export async function passGate(): Promise<void> {
  await sql('select from app.gate');
}

/** Throws while the application has an outage for this type. */
export async function failIfOut({ type }: TaskContext): Promise<void> {
  const outages = await sql('select from app.outages where type = $1', type);
  if (outages.length > 0) throw new Error(`${type} has an outage`);
}
