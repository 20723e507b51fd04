// Writes when it starts and ends to a table of its own, over a connection of its own. May enqueue tasks with its end.
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

export default async function (payload, ctx) {
  const run = [ctx.id, process.env.WITNESS_WORKER, crypto.randomUUID()];
  // Without a record there is no run: the attempt fails.
  await write('insert into witness.runs (task_id, worker, run) values ($1, $2, $3)', run);
  await sleep(payload.ms);
  for (;;) {
    try {
      await write('update witness.runs set ended_at = clock_timestamp() where run = $1', [run[2]]);
      break;
    } catch {
      await sleep(20);
    }
  }
  for (let n = 1; n <= (payload.follow ?? 0); n++)
    await ctx.enqueue('witness', { ms: 1, n }, payload.keyed ? { key: `${ctx.id} ${n}` } : {});
  if (payload.shared) await ctx.enqueue('witness', { ms: 1 }, { key: payload.shared });
  if (payload.fails && ctx.attempt === 1) throw new Error('as asked');
  return null;
}
