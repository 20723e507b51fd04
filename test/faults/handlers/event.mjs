import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.WITNESS_URL, max: 4 });
pool.on('error', () => {});

/** Records that it runs with this event, takes a moment, and fails now and then. */
export default async ({ event }, ctx) => {
  const client = await pool.connect();
  try {
    // It may have waited so long for a connection that its task runs elsewhere by now.
    ctx.signal.throwIfAborted();
    await client.query('insert into app.runs (task_id, event) values ($1, $2)', [ctx.id, event]);
  } finally {
    client.release();
  }
  await sleep(Math.random() * 30);
  if (Math.random() < 0.1) throw new Error('now and then');
};

export const backoff = { kind: 'fixed', base: '20ms' };
export const maxAttempts = 3;
