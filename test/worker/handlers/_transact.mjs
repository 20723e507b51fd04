import { Again, Snooze } from 'taskq';
import { recorded, witness } from './_witness.mjs';

/**
 * Writes a row of `effects` in its own transaction, waits for the event `until`, and ends as `ends` says; after the
 * transaction it does what `after` says. Each may be an array, with one element for each run, the last for all later runs.
 */
export async function transact(payload, ctx) {
  const run = await witness(ctx, 'start');
  const of = (value) => (Array.isArray(value) ? value[Math.min(run, value.length) - 1] : value);
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
  'leave something behind': async (client) => {
    for (const text of [
      'set search_path = nowhere',
      "set statement_timeout = '7s'",
      "select set_config('app.tenant', 'acme', false)",
      'set role other_role',
      'set session authorization other_role',
      'prepare mine as select 1',
      'listen mine',
      'create temp table mine as select 1',
      'select pg_advisory_lock(42)',
      'declare mine cursor with hold for select 1',
    ])
      await client.query(text);
    await client.query({ name: 'named', text: 'select 1' });
    return looked(client);
  },
  look: async (client) => {
    await client.query({ name: 'named', text: 'select 2' });
    return looked(client);
  },
  'lose the connection': (client) => client.query('select pg_terminate_backend(pg_backend_pid())'),
};

/** What a session has that is not of this transaction. */
async function looked(client) {
  const { rows } = await client.query(`select current_setting('search_path') as path,
    current_setting('statement_timeout') as timeout, current_setting('app.tenant', true) as tenant,
    current_user = (select usename from pg_user where usesysid = 10) as is_admin, pg_backend_pid() as pid,
    (select count(*)::int from pg_prepared_statements where name = 'mine') as prepared,
    (select count(*)::int from pg_listening_channels()) as channels,
    (select count(*)::int from pg_class where relname = 'mine') as tables,
    (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks,
    (select count(*)::int from pg_cursors where name = 'mine') as cursors`);
  return rows[0];
}
