import { Again, Snooze } from 'taskq';
import { recorded, witness } from './_witness.mjs';

/**
 * Writes a row of `effects` in its own transaction, waits for the event `until`, and ends as `ends` says; after the
 * transaction it does what `after` says. Each may be an array, with one element for each run, the last for all later runs.
 */
export async function transact(payload, ctx) {
  const run = await witness(ctx, 'start');
  const of = (said) => (Array.isArray(said) ? said[Math.min(run, said.length) - 1] : said);
  const [until, ends, after] = [of(payload.until), of(payload.ends), of(payload.after)];
  let kept;
  const transaction = ctx.transaction(async (client) => {
    kept = client;
    const { rows } = await client.query('insert into effects (task_id, run) values ($1, $2) returning n', [
      ctx.id,
      run,
    ]);
    await witness(ctx, 'wrote');
    if (until) await recorded(ctx, until, ctx.signal);
    return ENDS[ends ?? 'return'](client, ctx, { n: Number(rows[0].n), pid: process.pid });
  });
  if (after === 'leave') return { left: true };
  const result = await transaction;
  await witness(ctx, 'committed');
  switch (after) {
    case 'throw':
      throw new Error('too late');
    case 'another result':
      return { another: true };
    case 'transact again':
      return ctx.transaction((client) =>
        client.query('insert into effects (task_id, run) values ($1, 99)', [ctx.id]),
      );
    case 'go on with the client':
      return kept.query('insert into effects (task_id, run) values ($1, 99)', [ctx.id]);
    case 'wait':
      await recorded(ctx, 'go on', new AbortController().signal);
  }
  return result;
}

const ENDS = {
  return: (_client, _ctx, result) => result,
  throw: () => {
    throw new TypeError('not today');
  },
  snooze: () => new Snooze('1ms'),
  again: (_client, ctx) => new Again({ payload: { follows: ctx.id } }),
  'fail at the commit': (client, ctx) =>
    client.query('insert into effects (task_id, run, sole) values ($1, 0, 1), ($1, 0, 1)', [ctx.id]),
  'go on after an error': (client) => client.query('select no_such_column').catch(() => 'never mind'),
  'commit by hand': (client) => client.query('-- now\n commit'),
  'begin anew, unseen': (client) => client.query('select 1; rollback; begin'),
  'commit, unseen': (client) => client.query('select 1; commit'),
  'use a savepoint': async (client, ctx, result) => {
    await client.query('savepoint here');
    await client.query('insert into effects (task_id, run) values ($1, 99)', [ctx.id]);
    await client.query('rollback to savepoint here');
    return result;
  },
  'sleep in the database': async (client) => {
    await client.query('select pg_sleep(3600)');
  },
  'lose the connection': (client) => client.query('select pg_terminate_backend(pg_backend_pid())'),
};
