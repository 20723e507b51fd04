import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Client, connectClient } from '../../../src/lib/connect.ts';
import { migrate } from '../../../src/queue/schema/migrate.ts';
import { emptyDatabase, type TestDatabase } from '../../support/database.ts';
import { enqueue, finishedRow } from '../rows.ts';
import { type Session, sessionOf } from '../session.ts';
import { claimOne, outcome, registerWorker } from '../worker.ts';

let database: TestDatabase;
let admin: Session;
let owner: string;
let caller: string;
const clients: Client[] = [];

/** A database whose schema belongs to a role that may do nothing else, and a role that may call functions alone. */
beforeAll(async () => {
  database = await emptyDatabase();
  admin = sessionOf(await database.client());
  [owner, caller] = [`owner_${database.name}`, `caller_${database.name}`];
  await admin.rows(`create role ${owner} login`);
  await admin.rows(`create role ${caller} login`);
  await admin.rows(`revoke all on database ${database.name} from public`);
  await admin.rows(`grant connect on database ${database.name} to ${owner}, ${caller}`);
  await admin.rows(`create schema taskq authorization ${owner}`);
  await migrate({ databaseUrl: urlOf(owner) });
});

afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.end()));
  await admin.client.query(`
    drop owned by ${caller} cascade;
    grant connect on database ${database.name} to ${caller};
    delete from taskq.finished_tasks;
    delete from taskq.held_keys;
  `);
});

afterAll(async () => {
  for (const role of [caller, owner])
    await admin.client.query(`drop owned by ${role} cascade; drop role ${role}`);
  await database.drop();
});

function urlOf(role: string): string {
  return database.url.replace(/\/\/[^@/]*@/, `//${role}@`);
}

/** Operators that functions of ours use, with the types of their operands. */
const SHADOWED = [
  ['text', '=', 'text'],
  ['integer', '=', 'integer'],
  ['timestamptz', '<=', 'timestamptz'],
  ['jsonb', '->>', 'text'],
  ['jsonb', '?', 'text'],
  ['jsonb', '||', 'jsonb'],
  ['text', '||', 'text'],
  ['bigint', '-', 'bigint'],
] as const;

/** Calls of functions that read and write each of the tables. */
const CALLS = [
  `taskq.enqueue_many('[{"type": "work", "group": "g", "key": "j", "on_held": "replace", "tags": {"a": "b"}}]')`,
  `taskq.run_workflow('{"name": "w", "steps": [{"step": "a", "type": "work"}, {"step": "b", "type": "work", "after": ["a"]}]}')`,
  "taskq.set_schedule('s', '@every 1h', 'work')",
  `taskq.set_queue('default', '{"group_limit": 1, "max_running": 100}')`,
  "taskq.pause_queue('other')",
  'taskq.stats(60000)',
  "taskq.find_tasks('{}', 10)",
  'taskq.explain(1)',
  "taskq.cancel('{1}')",
  `taskq.edit('{1}', '{"payload": 1, "delay_ms": 1000, "priority": 1, "queue": "other"}')`,
  "taskq.retry('{1}')",
  "taskq.revive('{1}')",
  'taskq.begin_rescue()',
  'taskq.maintain()',
  `taskq.set_queue('default', '{"group_limit": null, "max_running": null}')`,
  "taskq.remove_schedule('s')",
] as const;

async function sessionAs(role: string): Promise<Session> {
  const client = await connectClient({ connectionString: urlOf(role) });
  clients.push(client);
  return sessionOf(client);
}

async function workOff(session: Session): Promise<void> {
  const worker = await registerWorker(session);
  const id = await enqueue(session, { key: 'k', key_for: '24h' });
  await worker.settle(outcome(await claimOne(worker), 'failed', { delay_ms: 0, error: {} }));
  await worker.giveBack([await claimOne(worker)]);
  const task = await claimOne(worker);
  await worker.heartbeat([task]);
  expect(await worker.settle(outcome(task, 'completed'))).toMatchObject([{ id, answer: 'recorded' }]);
  expect(await finishedRow(admin, id)).toMatchObject({ status: 'completed' });
}

describe('a role without any right in the database but on its own schema', () => {
  test('has migrated, and works', async () => {
    const mine = `select count(*)::int from pg_proc where pronamespace = 'taskq'::regnamespace and proowner <> '${owner}'::regrole`;
    expect(await admin.value(mine)).toBe(0);
    const session = await sessionAs(owner);
    await workOff(session);
    expect(await session.value('select taskq.maintain()')).toMatchObject({ partitions_made: 0 });
  });
});

describe('a role that may call the functions', () => {
  test('works without any right on a table, and its name stands with what it enqueued', async () => {
    await admin.client.query(
      `grant usage on schema taskq to ${caller}; grant execute on all functions in schema taskq to ${caller}`,
    );
    const session = await sessionAs(caller);
    await workOff(session);
    expect(await admin.value('select created_by from taskq.finished_tasks')).toBe(caller);
    for (const table of ['tasks', 'finished_tasks', 'dead_tasks', 'all_tasks', 'release']) {
      await expect(session.rows(`select from taskq.${table}`)).rejects.toMatchObject({ code: '42501' });
    }
  });

  test('cannot slip functions or tables of its own under ours', async () => {
    await admin.client.query(
      `grant usage on schema taskq to ${caller}; grant execute on all functions in schema taskq to ${caller};
       grant temporary on database ${database.name} to ${caller}; create schema evil authorization ${caller}`,
    );
    const session = await sessionAs(caller);
    await session.client.query(`
      create function evil.touch() returns void language plpgsql as $$ begin raise exception 'called as %', current_user; end $$;
      create function evil.clock_timestamp() returns timestamptz language sql as $$ select evil.touch(); select pg_catalog.clock_timestamp() $$;
      create function evil.greatest_of(anyarray) returns anyelement language sql as $$ select $1[1] $$;
      create function evil.equals(bigint, bigint) returns boolean language sql as $$ select evil.touch(); select true $$;
      create operator evil.= (leftarg = bigint, rightarg = bigint, function = evil.equals);
      create temporary table tasks (id bigint);
      create function pg_temp.clock_timestamp() returns timestamptz language sql as $$ select evil.touch(); select pg_catalog.clock_timestamp() $$;
    `);
    // In the schema that every search path has by default, under operators and functions that ours use.
    await admin.rows(`grant create on schema public to ${caller}`);
    for (const [left, operator, right] of SHADOWED) {
      const name = `shadow_${SHADOWED.findIndex(([, one]) => one === operator)}_${left}`;
      await session.client.query(`
        create or replace function public.${name}(${left}, ${right}) returns boolean language plpgsql
        as $$ begin perform evil.touch(); return true; end $$;
        create operator public.${operator} (leftarg = ${left}, rightarg = ${right}, function = public.${name})`);
    }
    await session.client.query(`
      create function public.length(text) returns integer language sql as $$ select evil.touch(); select 1 $$;
      create type evil.label as (name text);
      create function evil.text_of(evil.label) returns text language sql as $$ select evil.touch(); select $1.name $$;
      create cast (evil.label as text) with function evil.text_of as implicit`);
    await session.rows('grant usage on schema evil to public');
    await session.rows('set search_path = evil, public, pg_temp, pg_catalog, taskq');
    await expect(session.rows('select clock_timestamp()')).rejects.toThrow(`called as ${caller}`);
    await expect(session.rows("select 'a'::text = 'b'::text")).rejects.toThrow(`called as ${caller}`);
    // What the session itself converts runs with its own rights, before the call.
    await expect(session.rows("select taskq.enqueue(row('work')::evil.label)")).rejects.toThrow(
      `called as ${caller}`,
    );
    await workOff(session);
    for (const call of CALLS) await session.rows(`select ${call}`);
    await admin.rows('delete from taskq.tasks');
  });
});

describe('a role that may call single functions', () => {
  /** Gives it these, and takes all others. */
  async function may(...functions: readonly string[]): Promise<void> {
    await admin.rows(`revoke execute on all functions in schema taskq from ${caller}`);
    await admin.rows(`grant usage on schema taskq to ${caller}`);
    const known = await admin.rows<{ name: string }>(
      `select oid::regprocedure::text as name from pg_proc
       where pronamespace = 'taskq'::regnamespace and proname = any ($1)`,
      functions,
    );
    expect(known).toHaveLength(functions.length);
    for (const { name } of known) await admin.rows(`grant execute on function ${name} to ${caller}`);
  }

  test('starts, grows, works off, cancels and retries a workflow with the one that does it', async () => {
    const session = await sessionAs(caller);
    const steps = [
      { step: 'a', type: 'work' },
      { step: 'b', type: 'work', after: ['a'], group: 'g' },
      { step: 'c', type: 'work', after: ['a', 'b'] },
    ];
    const next = { type: 'work' };
    const spec = { name: 'flow', open: true, steps, on_step: next, on_end: next, on_failing: next };
    await may('run_workflow');
    const id = await session.value('select id from taskq.run_workflow($1)', spec);
    await expect(session.rows("select taskq.enqueue('work')")).rejects.toMatchObject({ code: '42501' });
    await may('enqueue');
    await session.rows("select taskq.enqueue('work', '{}', $1)", { workflow: id, step: 'd', after: ['c'] });

    const state = () => admin.value('select state from taskq.workflows where id = $1', id);
    const workAll = async (kind: string) => {
      await may('register_worker', 'claim', 'settle', 'get_parents');
      const worker = await registerWorker(session);
      for (let tasks = await worker.claim({ start: 10 }); tasks.length > 0; ) {
        await session.rows('select taskq.get_parents($1)', tasks[0]!.id);
        await worker.settle(...tasks.map((task) => outcome(task, kind)));
        tasks = await worker.claim({ start: 10 });
      }
    };
    await workAll('dead');
    await may('close_workflow');
    await session.rows('select taskq.close_workflow($1)', id);
    await workAll('completed');
    expect(await state()).toBe('failed');
    await may('retry_workflow');
    await session.rows('select from taskq.retry_workflow($1)', id);
    await may('cancel_workflow');
    await session.rows('select from taskq.cancel_workflow($1)', id);
    expect(await state()).toBe('cancelled');
    await may('retry_workflow');
    await session.rows('select from taskq.retry_workflow($1)', id);
    await workAll('completed');
    expect(await state()).toBe('completed');
  });

  test('sets, fires and runs a schedule with the one that does it', async () => {
    const session = await sessionAs(caller);
    await admin.rows("select taskq.add_types('{work}', '{}')");
    await may('set_schedule');
    await session.rows("select taskq.set_schedule('often', '@every 1s', 'work', '{}', $1)", {
      next_at: '2020-01-01T00:00:00Z',
    });
    await may('fire_schedule');
    const fire = "select answer from taskq.fire_schedule('often', $1, $2)";
    expect(await session.value(fire, '2020-01-01T00:00:00Z', '2020-01-01T00:00:01Z')).toBe('fired');
    await may('run_schedule');
    await session.rows("select taskq.run_schedule('often')");
    await may('remove_schedule');
    await session.rows("select taskq.remove_schedule('often')");
    expect(await admin.value('select count(*)::int from taskq.tasks')).toBe(2);
    await admin.rows('delete from taskq.tasks');
  });
});

describe('everybody else', () => {
  test('may call nothing', async () => {
    await admin.rows(`grant usage on schema taskq to ${caller}`);
    const session = await sessionAs(caller);
    await expect(session.rows("select taskq.enqueue('work')")).rejects.toMatchObject({ code: '42501' });
    await expect(session.rows("select taskq.discard('{1}')")).rejects.toMatchObject({ code: '42501' });
  });
});
