import { setTimeout as sleep } from 'node:timers/promises';
import { createWorker, Retry, type TaskContext, TaskQueue } from 'taskq';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../src/lib/database.ts';
import { listWorkers } from '../../src/queue/inspect/list-workers.ts';
import { stats } from '../../src/queue/inspect/stats.ts';
import { claim } from '../../src/queue/protocol/claim.ts';
import { maintain } from '../../src/queue/protocol/maintain.ts';
import { registerWorker } from '../../src/queue/protocol/register-worker.ts';
import { migrate } from '../../src/queue/schema/migrate.ts';
import { emptyDatabase } from '../support/database.ts';
import { useDatabase } from './session.ts';
import { waitUntil, waitUntilBlocked } from './waiting.ts';
import { outcome, registerWorker as registerPlain } from './worker.ts';

const queue = useDatabase();
const opened: { close(): Promise<void> }[] = [];

afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
  await queue.admin.rows(`alter database ${await nameOf()} reset all`);
});

const nameOf = () => queue.admin.value<string>('select current_database()');

/** Gives the database these settings, and ends every session that has the old ones. */
async function setForDatabase(settings: Readonly<Record<string, string>>): Promise<void> {
  const name = await nameOf();
  for (const [setting, value] of Object.entries(settings)) {
    await queue.admin.rows(`alter database ${name} set ${setting} = ${value}`);
  }
  await queue.admin.rows(
    `select pg_terminate_backend(pid, 5000) from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
  );
}

function database(): Database {
  const db = openDatabase({ databaseUrl: queue.url, maxConnections: 2, applicationName: 'test' });
  opened.push(db);
  return db;
}

function open(options: { readonly synchronousCommit?: 'off' } = {}): TaskQueue {
  const tasks = new TaskQueue({ databaseUrl: queue.url, ...options });
  opened.push(tasks);
  return tasks;
}

const HANDLERS = {
  add: ({ a, b }: { a: number; b: number }) => ({ sum: a + b }),
  retry: (_: unknown, { attempt }: { attempt: number }) => {
    if (attempt === 1) throw new Retry({ delay: '10ms' });
    return attempt;
  },
  fail: () => {
    throw new Error("it's \\ broken");
  },
  wait: (_: unknown, { signal }: { signal: AbortSignal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
};

const days = (to?: Date | null, from?: Date | null) =>
  to && from && Math.round((to.getTime() - from.getTime()) / 86_400_000);

const AT = new Date(Date.now() - 86_400_000 * 31);

/** All that a queue is asked to do, once each; returns what can be compared. */
async function useEverything(): Promise<unknown> {
  const db = database();
  const tasks = open();
  const about = { name: 'lost', uniquePart: 'x', version: '0', concurrency: 1, queues: null, paused: false };
  await registerWorker(db, {
    ...about,
    leaseMs: 100,
    pollMs: 10,
    types: { add: {}, retry: {}, fail: {}, wait: {} },
  });
  const { workerId } = await registerWorker(db, { ...about, leaseMs: 100, pollMs: 10, types: {} });
  const rescued = await tasks.enqueue('add', { a: 1, b: 0.1 });
  const { tasks: claimed } = await claim(db, {
    worker: { id: workerId, types: ['add'], leaseMs: 1 },
    queues: ['default'],
    room: { start: 1, ahead: 1 },
    from: { cursor: null, lookBackMs: null },
  });

  const keyed = await tasks.enqueue('add', { a: 2, b: 1 / 3 }, { key: 'k\\"\'', tags: { ä: '{",' } });
  const held = await tasks.enqueue('add', { a: 2, b: 1 / 3 }, { key: 'k\\"\'' });
  const past = await tasks.enqueue('add', { a: 3, b: 3 }, { at: AT, priority: 'low' });
  const later = await tasks.enqueue('add', { a: 4, b: 4 }, { delay: '100ms', expires: '1h' });
  const bulk: string[] = [];
  await tasks.enqueueMany(
    [
      { type: 'add', payload: { a: 5, b: 5 } },
      { type: 'add', payload: { a: 6, b: 6 }, key: 'six', keyFor: 'ever' },
    ],
    { onEnqueued: (answers) => bulk.push(...answers.map(({ id }) => id)) },
  );
  const retried = await tasks.enqueue('retry', {});
  const failing = await tasks.enqueue('fail', {}, { maxAttempts: 1 });
  const endless = await tasks.enqueue('wait', {});
  const never = await tasks.enqueue('add', { a: 0, b: 0 }, { delay: '1d' });
  const cancelled = await tasks.cancel(never.id, { reason: "not 'now'" });

  const worker = createWorker({
    databaseUrl: queue.url,
    handlers: HANDLERS,
    ...{ lease: '900ms', heartbeat: '100ms', poll: '50ms', rescue: '50ms', name: 'core' },
  });
  await worker.start();
  const ends = [];
  for (const { id } of [rescued, keyed, past, later, ...bulk.map((id) => ({ id })), retried, failing]) {
    ends.push({ ...(await tasks.wait(id)), id: null, error: null });
  }
  const dead = await tasks.get(failing.id);
  const revived = await tasks.revive(failing.id, { maxAttempts: 2, delay: '1d' });
  const second = await tasks.get(failing.id);
  const running = () =>
    db.query<{ id: string }>({ text: "select id from taskq.all_tasks where status = 'running'" });
  await waitUntil(async () => (await running()).length === 1, 'it does not run');
  await tasks.cancel(endless.id);
  const killed = await tasks.wait(endless.id);
  const workers = await listWorkers(db, { name: 'core' }, 10);
  await worker.stop();

  const page = await tasks.list({ type: 'add' }).page();
  const figures = await stats(db, 3_600_000);
  return {
    ...{
      claimed: claimed.length,
      held: { ...held, id: held.id === keyed.id },
      cancelled: cancelled.answer,
      ends,
    },
    dead: {
      status: dead?.status,
      reason: dead?.reason,
      message: dead?.error?.message,
      tries: dead?.errors.length,
    },
    ...{ revived: revived.answer, second: second?.status, killed: killed.status },
    inADay: days(second?.availableAt, second?.updatedAt),
    past: page.tasks.map(({ createdAt, notBefore }) => [
      days(createdAt, new Date()),
      days(notBefore, createdAt),
    ]),
    tags: page.tasks.map(({ tags, key, payload }) => ({ tags, key, payload })),
    workers: workers.map(({ status, types }) => ({ status, types })),
    figures: figures.queues.map((one) => ({ ...one, oldest_waiting_ms: null })),
    maintained: Object.keys((await maintain(db))?.counts ?? {}).sort(),
  };
}

/** The protocol in plain SQL, as a session has it that nobody has prepared; returns what can be compared. */
async function useSql(): Promise<unknown> {
  const session = await queue.session();
  const worker = await registerPlain(session);
  const at = AT.toISOString();
  const many = JSON.stringify([
    { type: 'work', payload: { n: 0.1 }, at, tags: { a: 'b' } },
    { type: 'work', payload: { n: 2 }, key: 'two', key_for: '3d' },
    { type: 'work', payload: { n: 3 }, expires_ms: 3_600_000 },
    { type: 'work', payload: { n: 4 }, delay_ms: 86_400_000 },
  ]);
  const made = await session.rows<{ id: string }>('select id, created from taskq.enqueue_many($1)', many);
  const claimed = await worker.claim({ start: 3 });
  const [first, second, third] = claimed;
  const beats = await worker.heartbeat(claimed.map((lease) => ({ ...lease, started_ms: 1 })));
  const answers = await worker.settle(
    outcome(first!, 'completed', { result: { third: 1 / 3 } }),
    outcome(second!, 'failed', { error: { message: 'no' }, delay_ms: 60_000 }),
    outcome(third!, 'dead', { error: { message: 'no' }, reason: 'so' }),
  );
  const shown = await session.rows<{ task: Record<string, unknown> }>(
    'select taskq.show_task(id) as task from unnest($1::bigint[]) as id order by id',
    made.map(({ id }) => id),
  );
  const whole = (from: unknown, to: unknown) =>
    Math.round((Date.parse(String(to)) - Date.parse(String(from))) / 60_000);
  const cancelled = await session.rows('select answer from taskq.cancel($1)', [made[3]!.id]);
  await session.client.end();
  return {
    ...{ created: made.length, cancelled, tries: claimed.map(({ payload }) => payload) },
    beats: beats.map(({ answer }) => answer),
    answers: answers.map(({ answer, extra }) => [answer, extra]),
    shown: shown.map(({ task }) => [
      ...[task.status, task.payload, task.result, task.reason, task.tags, task.attempts],
      ...[
        whole(task.created_at, task.not_before),
        whole(task.updated_at, task.available_at ?? task.updated_at),
      ],
    ]),
  };
}

/** The worst settings a database or a role can have. */
const WORST: Readonly<Record<string, string>> = {
  ...{ datestyle: "'SQL, DMY'", intervalstyle: "'sql_standard'", timezone: "'Pacific/Kiritimati'" },
  ...{ extra_float_digits: '-15', bytea_output: 'escape', array_nulls: 'off', client_encoding: 'latin1' },
  ...{ standard_conforming_strings: 'off', default_transaction_isolation: 'serializable' },
  ...{ default_transaction_deferrable: 'on', search_path: 'evil, public, pg_catalog', row_security: 'off' },
  ...{ synchronous_commit: 'off', statement_timeout: "'80ms'", lock_timeout: "'1ms'" },
  ...{ idle_in_transaction_session_timeout: "'1ms'", quote_all_identifiers: 'on' },
  ...{ jit: 'on', jit_above_cost: '0', plan_cache_mode: 'force_custom_plan', enable_tidscan: 'off' },
  'plpgsql.extra_errors': "'all'",
  ...{ enable_indexscan: 'off', enable_nestloop: 'off', enable_sort: 'off', enable_hashjoin: 'off' },
};

/** What ours are taken for where somebody else's schema comes first. */
const EVIL = `
  create schema evil;
  create function evil.evil(text, text) returns boolean language sql as 'select 1 / 0 = 0';
  create operator evil.= (leftarg = text, rightarg = text, function = evil.evil);
  create function evil.set_config(text, text, boolean) returns text language sql as 'select (1 / 0)::text';
  create function evil.current_setting(text) returns text language sql as 'select (1 / 0)::text';
  create function evil.to_jsonb(anyelement) returns jsonb language sql as 'select null::jsonb';
  create function evil.clock_timestamp() returns timestamptz language sql as 'select ''epoch''::timestamptz'`;

describe('a setting of the database', () => {
  test('changes nothing of what comes of a queue and a worker', async () => {
    const asUsual = await useEverything();
    await queue.admin.client.query(`
      delete from taskq.tasks; delete from taskq.dead_tasks; delete from taskq.finished_tasks;
      delete from taskq.task_errors; delete from taskq.held_keys; delete from taskq.workers;
      delete from taskq.task_types; drop schema if exists evil cascade; ${EVIL}`);
    await setForDatabase(WORST);
    expect(await useEverything()).toEqual(asUsual);
  });

  test('ends no statement of ours that waits, as for a key that another transaction has just taken', async () => {
    const isNew = await queue.admin.value<boolean>(
      "select current_setting('server_version_num')::integer >= 170000",
    );
    const names = ['statement_timeout', 'lock_timeout', ...(isNew ? ['transaction_timeout'] : [])];
    await setForDatabase(Object.fromEntries(names.map((name) => [name, "'80ms'"])));
    const holder = await queue.directSession();
    for (const name of names) await holder.rows(`set ${name} = 0`);
    await holder.rows('begin');
    await holder.rows(`select taskq.enqueue('work', '{}', '{"key": "k"}')`);
    const waiting = open().enqueue('work', {}, { key: 'k' });
    waiting.catch(() => {});
    await waitUntilBlocked(queue.admin);
    await queue.admin.rows('select pg_sleep(0.3)');
    await holder.rows('rollback');
    expect(await waiting).toMatchObject({ created: true });
  });

  test('changes nothing of what the functions do in the session of an application, or of a worker in another language', async () => {
    const asUsual = await useSql();
    await queue.admin.client.query('delete from taskq.finished_tasks; delete from taskq.dead_tasks');
    await queue.admin.client.query(
      'delete from taskq.tasks; delete from taskq.task_errors; delete from taskq.held_keys',
    );
    await queue.admin.client.query('drop schema if exists evil cascade');
    await queue.admin.client.query(EVIL);
    // How long it may take is up to the application. A claim refuses any isolation but read committed.
    const { statement_timeout: _, lock_timeout: __, default_transaction_isolation: ___, ...others } = WORST;
    await setForDatabase(others);
    expect(await useSql()).toEqual(asUsual);
  });

  test('changes nothing of a migration', async () => {
    const empty = await emptyDatabase();
    opened.push({ close: () => empty.drop() });
    const admin = await empty.client();
    await admin.query(EVIL);
    for (const [setting, value] of Object.entries(WORST)) {
      await admin.query(`alter database ${empty.name} set ${setting} = ${value}`);
    }
    const { steps } = await migrate({ databaseUrl: empty.directUrl });
    expect(steps.every(({ applied }) => applied)).toBe(true);
    expect((await migrate({ databaseUrl: empty.directUrl })).newlyApplied).toEqual([]);
  });

  test('does not make a migration take what an earlier one has made for that of others', async () => {
    const empty = await emptyDatabase();
    opened.push({ close: () => empty.drop() });
    await migrate({ databaseUrl: empty.directUrl });
    const admin = await empty.client();
    await admin.query(
      `update taskq.release set number = number - 1, functions_hash = 'earlier',
         objects = jsonb_set(objects, '{cancel,hash}', '"earlier"')`,
    );
    await admin.query(`alter database ${empty.name} set quote_all_identifiers = on`);
    const { newlyApplied } = await migrate({ databaseUrl: empty.directUrl });
    expect(newlyApplied.map(({ step }) => step)).toContain('functions');
  });

  test('is respected where it says that nothing is written: a worker does not start, and says why', async () => {
    await setForDatabase({ default_transaction_read_only: 'on' });
    const worker = createWorker({ databaseUrl: queue.url, handlers: HANDLERS });
    await expect(worker.start()).rejects.toMatchObject({
      code: 'read_only',
      message: expect.stringMatching(/is read-only: default_transaction_read_only is on$/),
    });
    expect((await open().list().page()).tasks).toEqual([]);
  });

  test('does not change what sessions of others are, the servers of a pooler included', async () => {
    const asked =
      "select current_setting('timezone') || current_setting('search_path') || current_setting('lock_timeout')";
    const usual = await queue.admin.value<string>(asked);
    const tasks = open();
    await Promise.all(Array.from({ length: 20 }, () => tasks.enqueue('work', {})));
    const sessions = await Promise.all(Array.from({ length: 10 }, () => queue.session()));
    const seen = await Promise.all(sessions.map((session) => session.value<string>(asked)));
    expect(new Set(seen)).toEqual(new Set([usual]));
  });
});

describe('how sure a commit is', () => {
  beforeEach(async () => {
    await queue.admin.client.query(`
      create table seen (commit text);
      create function see() returns trigger language plpgsql as
        $$ begin insert into public.seen values (current_setting('synchronous_commit')); return null; end $$;
      create constraint trigger see after insert or update on taskq.tasks deferrable initially deferred
        for each row execute function see()`);
  });
  afterEach(() => queue.admin.client.query('drop function see cascade; drop table seen'));

  const seen = async () =>
    (await queue.admin.rows<{ commit: string }>('select distinct commit from seen')).map((row) => row.commit);

  /** Enqueue, claim and heartbeat: what is done to live tasks. */
  async function workOnce(
    options: { readonly synchronousCommit?: 'off' } = {},
    work: (payload: unknown, ctx: TaskContext) => unknown = () => sleep(200),
  ): Promise<void> {
    const handlers = { work };
    const worker = createWorker({
      databaseUrl: queue.url,
      handlers,
      poll: '50ms',
      heartbeat: '50ms',
      ...options,
    });
    await worker.start();
    const tasks = open(options);
    await tasks.wait((await tasks.enqueue('work', {})).id);
    await worker.stop();
  }

  test.each([
    ['off', 'on'],
    ['local', 'on'],
    ['remote_apply', 'remote_apply'],
  ])('is not weakened by the database: %s is %s in our sessions', async (given, held) => {
    await setForDatabase({ synchronous_commit: given });
    await workOnce();
    expect(await seen()).toEqual([held]);
  });

  test('is set by an operator, by a setting of ours', async () => {
    await workOnce({ synchronousCommit: 'off' });
    expect(await seen()).toEqual(['off']);
  });

  test.each([
    ['off', {}, 'on'],
    ['remote_apply', {}, 'remote_apply'],
    ['on', { synchronousCommit: 'off' }, 'off'],
  ] as const)(
    'is the same for what a SQL function writes: %s with %j is %s',
    async (given, options, held) => {
      await migrate({ databaseUrl: queue.directUrl, with: ['queues'] });
      onTestFinished(async () => {
        await queue.admin.rows(
          'drop table written cascade; drop function write; drop schema queues, internal cascade',
        );
      });
      await queue.admin.client.query(`
      create table written ();
      create constraint trigger see after insert on written deferrable initially deferred
        for each row execute function see();
      create function write(payload jsonb) returns jsonb language sql as
        $$ insert into public.written default values; select '{"status": "succeeded"}'::jsonb $$;
      drop trigger see on taskq.tasks`);
      await setForDatabase({ synchronous_commit: given });
      await workOnce(options, (_, ctx) => ctx.runFunction('public.write'));
      expect(await seen()).toEqual([held]);
    },
  );

  test("stays an application's own where it enqueues in its transaction", async () => {
    const client = (await queue.session()).client;
    await client.query("begin; set local synchronous_commit = 'local'");
    await open().enqueue('work', {}, { client });
    await client.query('commit');
    expect(await seen()).toEqual(['local']);
  });
});

test('names are judged alike where backslashes are escapes (standard_conforming_strings = off)', async () => {
  await setForDatabase({ standard_conforming_strings: 'off', escape_string_warning: 'off' });
  const session = await queue.session();
  expect(await session.rows("select name from taskq.add_types('{mail/send}')")).toEqual([
    { name: 'mail/send' },
  ]);
  await session.rows("select taskq.set_type('mail/send', '{\"priority\": 1}')");
  for (const name of [' a', 'a ', 'a\\b', 'a\nb', 'a//b', 's', '\t']) {
    const added = session.rows('select from taskq.add_types($1)', [name]);
    if (name === 's') expect(await added).toHaveLength(1);
    else await expect(added).rejects.toMatchObject({ code: '22023' });
  }
});

test('positions, queues of a filter and cron fields are read alike there', async () => {
  await queue.admin.rows(`select taskq.set_queue('default', '{"record_events": true}')`);
  const ids = await queue.admin.rows<{ id: string }>(
    `select id from taskq.enqueue_many('[{"type": "work"}, {"type": "work", "queue": "a_b"}]')`,
  );
  await queue.admin.rows('select * from taskq.cancel($1)', [ids[0]!.id]);
  await queue.admin.rows("select taskq.add_dead($1, 'why')", ids[1]!.id);
  await setForDatabase({ standard_conforming_strings: 'off', escape_string_warning: 'off' });
  const session = await queue.session();
  const event = await session.row<{ position: string }>('select * from taskq.events_after(null)');
  expect(await session.rows('select * from taskq.events_after($1)', event!.position)).toEqual([]);
  const groups = `select type from taskq.list_dead_groups(10, '{"queues": ["a_b"]}')`;
  expect(await session.rows(groups)).toEqual([{ type: 'work' }]);
  const values = "select taskq.cron_values('*/20,5-7', 0, 59, '{}')";
  expect(await session.value(values)).toEqual([0, 20, 40, 5, 6, 7]);
});
