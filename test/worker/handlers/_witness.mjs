import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';

// Without it pg looks for a Response, and Node 20, which has no `navigator`, loads undici for that: see .ci/bundle.mjs.
globalThis.navigator ??= { userAgent: 'Node.js' };
const pg = createRequire(import.meta.url)('pg');

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

/** What the handlers of this process wait for. One statement asks for all: one for each cost more than the workers did. */
const awaited = new Set();
let looking;

/** Waits until this event of the task has been recorded. Throws when the signal aborts. */
export async function recorded(ctx, event, signal) {
  signal.throwIfAborted();
  await new Promise((resolve, reject) => {
    const one = { id: ctx.id, event, resolve };
    awaited.add(one);
    signal.addEventListener('abort', () => {
      awaited.delete(one);
      reject(signal.reason);
    });
    looking ??= look();
    looking.catch(reject);
  });
}

async function look() {
  const text = 'select distinct task_id, event from witness where task_id = any ($1) and event = any ($2)';
  try {
    while (awaited.size > 0) {
      const asked = [...awaited];
      const { rows } = await query(text, [asked.map(({ id }) => id), asked.map((one) => one.event)]);
      const seen = new Set(rows.map(({ task_id, event }) => `${task_id} ${event}`));
      for (const one of asked) {
        if (!seen.has(`${one.id} ${one.event}`)) continue;
        awaited.delete(one);
        one.resolve();
      }
      await sleep(20);
    }
  } finally {
    looking = undefined;
  }
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
