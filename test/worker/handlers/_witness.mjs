import pg from 'pg';

// Like the pool of an ordinary application, it would keep a process alive long after its last query.
const pool = new pg.Pool({ connectionString: process.env.WITNESS_URL, max: 3 });
pool.on('error', () => {});

/**
 * Records an event of a task in a table outside the queue. Returns how often that event has happened to the task.
 * Retries until it succeeds, because the tests also break connections.
 */
export async function witness(ctx, event, note = null) {
  const values = [ctx.id, event, ctx.attempt, process.pid, JSON.stringify(note)];
  await query('insert into witness (task_id, event, attempt, pid, note) values ($1, $2, $3, $4, $5)', values);
  return count(ctx, event);
}

/** How often this event of the task was recorded. */
export async function count(ctx, event) {
  const text = 'select count(*)::integer as times from witness where task_id = $1 and event = $2';
  return (await query(text, [ctx.id, event])).rows[0].times;
}

async function query(text, values) {
  for (;;) {
    try {
      return await pool.query(text, values);
    } catch (error) {
      if (/^(42|3D)/.test(error.code ?? '')) throw error; // the test is over
    }
  }
}
