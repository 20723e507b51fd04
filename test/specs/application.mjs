import pg from 'pg';

/*
 * What handlers have of their own application: connections that the queue knows nothing of. What they leave in the
 * database proves what has run.
 */

/** Run a statement outside the queue and return its rows. */
export async function sql(text, ...values) {
  pool ??= new pg.Pool({ connectionString: process.env.DATABASE_URL ?? '', max: 8 });
  return (await pool.query(text, values)).rows;
}

let pool;

/** Testify that a task was here; `event` is `begun` or `done`. */
export async function witness({ id, attempt }, event) {
  await sql('insert into app.witness values ($1, $2, $3, $4)', id, event, attempt, process.pid);
}

/** Wait for as long as a test holds `app.gate`. */
export async function passGate() {
  await sql('select from app.gate');
}

/** Throws while the application has an outage for this type. */
export async function failIfOut({ type }) {
  const outages = await sql('select from app.outages where type = $1', type);
  if (outages.length > 0) throw new Error(`${type} has an outage`);
}
