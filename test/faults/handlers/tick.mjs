import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.WITNESS_URL, max: 1 });
pool.on('error', () => {});

/** Records for which tick of its schedule it runs. */
export default async ({ schedule }, ctx) => {
  await pool.query('insert into app.runs (schedule, tick, task_id) values ($1, $2, $3)', [
    ...[schedule, ctx.tick.toISOString(), ctx.id],
  ]);
};

export const backoff = { kind: 'fixed', base: '20ms' };
export const maxAttempts = 100;
