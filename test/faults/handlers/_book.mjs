// Books in its own transaction and, the first time, strikes at the point that its payload names.
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';

const pool = new pg.Pool({ connectionString: process.env.WITNESS_URL, application_name: 'witness', max: 4 });
pool.on('error', () => {});

/** Asks until there is an answer: the server may just be starting again. */
async function ask(text, values) {
  for (;;) {
    try {
      return (await pool.query(text, values)).rows;
    } catch {
      await sleep(50);
    }
  }
}

/** `worker`: the process of the worker. */
export function bookWith(worker) {
  return async ({ point, victim }, ctx) => {
    const note = 'insert into app.strikes values ($1, $2, $3) on conflict do nothing returning task_id';
    const strikes = (await ask(note, [ctx.id, point, victim])).length > 0;
    let backend;
    const strike = async () => {
      if (victim === 'worker') process.kill(worker(), 'SIGKILL');
      else if (victim === 'process') process.kill(process.pid, 'SIGKILL');
      else if (victim === 'backend' && process.env.KILL_BACKENDS) process.kill(backend, 'SIGKILL');
      else await ask('select pg_terminate_backend($1)', [backend]);
    };
    const reach = (here) => (strikes && point === here ? strike() : undefined);
    const result = await ctx.transaction(async (client) => {
      backend = (await client.query('select pg_backend_pid() as pid')).rows[0].pid;
      await reach('begun');
      await client.query('insert into app.effects (task_id, part) values ($1, 1)', [ctx.id]);
      await reach('wrote');
      await client.query('insert into app.effects (task_id, part) values ($1, 2)', [ctx.id]);
      await reach('written');
      // A deferred trigger takes 30 ms.
      if (strikes && point === 'committing') setTimeout(strike, Math.random() * 40);
      return { backend };
    });
    await reach('committed');
    return result;
  };
}
