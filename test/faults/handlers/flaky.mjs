import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.WITNESS_URL, max: 4 });
pool.on('error', () => {});

/** Fails while the weather is bad. */
export default async () => {
  const { rows } = await pool.query('select is_bad from app.weather');
  if (rows[0].is_bad) throw new Error('bad weather');
};

export const backoff = { kind: 'fixed', base: '50ms' };
export const maxAttempts = 10_000;
