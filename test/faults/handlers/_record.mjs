// Writes when a run starts and ends to a table of the test, over a connection of its own.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

let client;

async function write(text, values) {
  try {
    if (client === undefined) {
      client = new pg.Client({ connectionString: process.env.WITNESS_URL, application_name: 'witness' });
      client.on('error', () => {
        client = undefined;
      });
      await client.connect();
    }
    await client.query(text, values);
  } catch (error) {
    client = undefined;
    throw error;
  }
}

/** Records a run of this task that takes so long. Without a record there is no run: the attempt fails. */
export async function recordRun(ctx, ms, good = true) {
  const run = crypto.randomUUID();
  const start = 'insert into witness.runs (task_id, worker, run) values ($1, $2, $3)';
  await write(start, [ctx.id, process.env.WITNESS_WORKER, run]);
  await sleep(ms);
  for (;;) {
    try {
      await write('update witness.runs set ended_at = clock_timestamp(), good = $2 where run = $1', [
        run,
        good,
      ]);
      return;
    } catch {
      await sleep(20);
    }
  }
}
