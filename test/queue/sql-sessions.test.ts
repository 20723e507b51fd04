import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { migrate } from '../../src/queue/schema/migrate.ts';
import { SQL } from '../../src/queue/schema/schema-release.ts';
import { type Session, useDatabase } from './session.ts';
import { waitUntil } from './waiting.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();
let install: string;

beforeAll(async () => {
  await migrate({ databaseUrl: queue.directUrl, with: ['queues'] });
  install = await readFile(join(SQL, 'with', 'queues', 'install.sql'), 'utf8');
});
// The tables are emptied before each test.
beforeEach(() => queue.admin.client.query(install));

interface Dequeued {
  readonly task_id: string | null;
  readonly task_type: string | null;
  readonly payload: unknown;
}

async function dequeue(session: Session): Promise<Dequeued> {
  return (await session.row<Dequeued>('select * from queues.dequeue_next_available_task()'))!;
}

const enqueue = (session: Session, payload: object = {}, at = 'now()') =>
  session.rows(`select queues.enqueue('email', $1, ${at})`, JSON.stringify(payload));

/** As if the lease of this task had been given five minutes earlier. */
async function lapse(id: string | null): Promise<void> {
  const rows = await queue.admin.rows(
    `update taskq.tasks set lease_expires_at = clock_timestamp() - interval '1 ms'
     where id = $1 and lease_owner is not null returning id`,
    id,
  );
  expect(rows).toHaveLength(1);
}

/** Ask until a task is due: expired leases are looked for once a second. */
async function dequeueSoon(session: Session): Promise<Dequeued> {
  let found = await dequeue(session);
  await waitUntil(async () => {
    if (found.task_id === null) found = await dequeue(session);
    return found.task_id !== null;
  }, 'nothing is due');
  return found;
}

const errors = () =>
  queue.admin.rows('select task_id, error_message from queues.error order by error_message');

test('has the names, the arguments and the columns of the specification', async () => {
  const functions = await queue.admin.rows(
    `select p.oid::regprocedure::text as name, pg_get_function_result(p.oid) as returns
     from pg_proc p where p.pronamespace in ('queues'::regnamespace, 'internal'::regnamespace) order by 1`,
  );
  expect(functions).toEqual([
    { name: 'internal.run_function(text,jsonb)', returns: 'jsonb' },
    { name: 'internal.run_functions(text[],jsonb[])', returns: 'SETOF text' },
    { name: 'queues.complete_task(bigint)', returns: 'void' },
    { name: 'queues.dequeue_next_available_task()', returns: 'queues.task' },
    {
      name: 'queues.enqueue(text,jsonb,timestamp with time zone)',
      returns: 'void',
    },
    { name: 'queues.fail_task(bigint,text)', returns: 'void' },
  ]);
  const columns = await queue.admin.rows<{ view: string; columns: string }>(
    `select c.relname as view, string_agg(a.attname, ' ' order by a.attnum) as columns
     from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
     where c.relnamespace = 'queues'::regnamespace group by 1 order by 1`,
  );
  expect(columns).toEqual([
    { view: 'error', columns: 'task_id error_message' },
    { view: 'task', columns: 'task_id task_type payload enqueued_at scheduled_at' },
    { view: 'task_completed', columns: 'task_id completed_at' },
    { view: 'task_lease', columns: 'task_lease_id task_id leased_at expires_at' },
  ]);
  const types = await queue.admin.value("select array_agg(name) from taskq.task_types where name <> 'work'");
  expect([...(types as string[])].sort()).toEqual(['db_function', 'email', 'file_delete', 'sms']);
});

test('a task is enqueued, dequeued under a lease of five minutes, and completed once however often it is said', async () => {
  const payload = {
    task_type: 'email',
    send_email_attempt_id: 456,
    before_handler: 'comms.get_email_payload',
    success_handler: 'comms.record_email_success',
    error_handler: 'comms.record_email_failure',
  };
  const session = await queue.session();
  await session.rows("select queues.enqueue('email', $1)", JSON.stringify(payload));
  const task = await dequeue(session);
  expect(task).toMatchObject({ task_type: 'email', payload });
  expect(await dequeue(session)).toMatchObject({ task_id: null });
  const lease = await queue.admin.row(
    `select l.task_id, l.expires_at - l.leased_at = interval '5 minutes' as is_five_minutes,
       l.expires_at = t.lease_expires_at as is_of_the_task
     from queues.task_lease l join taskq.tasks t on t.id = l.task_id`,
  );
  expect(lease).toEqual({ task_id: task.task_id, is_five_minutes: true, is_of_the_task: true });
  const before = await queue.admin.rows('select * from queues.task');
  await session.rows('select queues.complete_task($1)', task.task_id);
  const completed = await queue.admin.rows('select * from queues.task_completed');
  expect(completed).toMatchObject([{ task_id: task.task_id }]);
  await session.rows('select queues.complete_task($1)', task.task_id);
  expect(await queue.admin.rows('select * from queues.task_completed')).toEqual(completed);
  expect(await queue.admin.rows('select * from queues.task')).toEqual(before);
  expect(await queue.admin.value("select drop_on = 'infinity' from taskq.finished_tasks")).toBe(true);
});

test('a task that is lost, given again, fails and completes stays the same row of queues.task', async () => {
  const session = await queue.session();
  await enqueue(session, { n: 1 });
  const rows = () => queue.admin.rows('select * from queues.task');
  const before = await rows();
  const { task_id: id } = await dequeue(session);
  await lapse(id);
  expect((await dequeueSoon(session)).task_id).toBe(id);
  expect(await rows()).toEqual(before);
  await session.rows("select queues.fail_task($1, 'no')", id);
  expect(await rows()).toEqual(before);
  await session.rows('select queues.complete_task($1)', id);
  expect(await rows()).toEqual(before);
});

test('tasks come by the time for which they are scheduled, then by id, and none before its time', async () => {
  const session = await queue.session();
  await enqueue(session, { n: 1 }, "clock_timestamp() + interval '1 hour'");
  await session.rows('begin');
  for (const n of [2, 3, 4]) await enqueue(session, { n });
  await session.rows('commit');
  await queue.admin.rows(
    `update taskq.tasks set available_at = clock_timestamp() - interval '1 minute' where payload ->> 'n' = '4'`,
  );
  const taken = [];
  for (let turn = 0; turn < 4; turn++) taken.push((await dequeue(session)).payload);
  expect(taken).toEqual([{ n: 4 }, { n: 2 }, { n: 3 }, null]);
});

test('twenty sessions dequeue at once, and each task is returned once', async () => {
  await queue.admin.rows(
    "select queues.enqueue('sms', jsonb_build_object('n', n)) from generate_series(1, 300) as n",
  );
  const sessions = await Promise.all(Array.from({ length: 20 }, () => queue.session()));
  const taken = await Promise.all(
    sessions.map(async (session) => {
      const ids: string[] = [];
      for (let task = await dequeue(session); task.task_id !== null; task = await dequeue(session)) {
        ids.push(task.task_id);
        await session.rows('select queues.complete_task($1)', task.task_id);
      }
      return ids;
    }),
  );
  expect(taken.flat()).toHaveLength(300);
  expect(new Set(taken.flat()).size).toBe(300);
  expect(await queue.admin.value('select count(*)::int from queues.task_completed')).toBe(300);
  expect(await queue.admin.value('select count(*)::int from queues.task_lease')).toBe(300);
  expect(taken.filter((ids) => ids.length > 0).length).toBeGreaterThan(1);
});

test('a session whose transaction stays open holds up no other one', async () => {
  for (const n of [1, 2]) await enqueue(queue.admin, { n });
  const [slow, quick] = [await queue.session(), await queue.session()];
  await quick.rows("set statement_timeout = '20s'");
  await slow.rows('begin');
  expect(await dequeue(slow)).toMatchObject({ payload: { n: 1 } });
  const other = await dequeue(quick);
  expect(other).toMatchObject({ payload: { n: 2 } });
  await quick.rows('select queues.complete_task($1)', other.task_id);
  await slow.rows('rollback');
  expect(await dequeue(quick)).toMatchObject({ payload: { n: 1 } });
});

test('nor does a transaction that has the row of the session, as of an operator who pauses it', async () => {
  const session = await queue.session();
  await session.rows("set statement_timeout = '20s'");
  for (const n of [1, 2]) await enqueue(queue.admin, { n });
  const { task_id: first } = await dequeue(session);
  const operator = await queue.session();
  await operator.rows('begin');
  await operator.rows('select taskq.pause_worker(id) from taskq.workers');
  await session.rows('select queues.complete_task($1)', first);
  const { task_id: second } = await dequeue(session);
  expect(second).not.toBeNull();
  await operator.rows('commit');
  await enqueue(queue.admin);
  expect(await dequeue(session)).toMatchObject({ task_id: null });
  await session.rows('select queues.complete_task($1)', second);
});

test('what a lost connection held is returned again after its lease, any number of times, and at the cost of no attempt', async () => {
  await enqueue(queue.admin);
  for (let turn = 0; turn < 5; turn++) {
    const session = await queue.session();
    const { task_id: id } = await dequeueSoon(session);
    expect(id).not.toBeNull();
    await queue.admin.rows(
      'select pg_terminate_backend($1, 5000)',
      await session.value('select pg_backend_pid()'),
    );
    const other = await queue.session();
    expect(await dequeue(other)).toMatchObject({ task_id: null });
    await lapse(id);
  }
  const last = await queue.session();
  const { task_id: id } = await dequeueSoon(last);
  expect(await queue.admin.row('select attempts, losses from taskq.tasks')).toEqual({
    attempts: 0,
    losses: 5,
  });
  await last.rows('select queues.complete_task($1)', id);
  expect(await queue.admin.value('select count(*)::int from queues.task_lease')).toBe(6);
  expect(await errors()).toEqual([]);
});

test('a failure is recorded and leaves the lease: the task comes again when that is over, though its session lives', async () => {
  const session = await queue.session();
  await enqueue(session);
  const { task_id: id } = await dequeue(session);
  for (const message of ['a', 'b', 'c']) await session.rows('select queues.fail_task($1, $2)', id, message);
  expect(await errors()).toEqual(['a', 'b', 'c'].map((error_message) => ({ task_id: id, error_message })));
  expect(await dequeue(session)).toMatchObject({ task_id: null });
  await lapse(id);
  expect(await dequeueSoon(session)).toMatchObject({ task_id: id });
  await session.rows('select queues.complete_task($1)', id);
  await session.rows("select queues.fail_task($1, 'late')", id);
  expect(await errors()).toHaveLength(4);
});

test('with a backlog before it, a task whose lease is over comes again as well', async () => {
  const session = await queue.session();
  await enqueue(session, { n: 1 });
  await dequeue(session);
  for (const n of [2, 3]) await enqueue(session, { n });
  await lapse(await queue.admin.value("select id from taskq.tasks where payload ->> 'n' = '1'"));
  await queue.admin.rows(
    "update taskq.rescue_scan set (started_at, finished_at) = (now() - interval '1 minute', now() - interval '1 minute')",
  );
  expect(await dequeue(session)).toMatchObject({ payload: { n: 1 } });
});

test('a session that comes back late completes its task, unless somebody of another role has it', async () => {
  const [late, other] = [await queue.session(), await queue.session()];
  await enqueue(late);
  const { task_id: id } = await dequeue(late);
  await lapse(id);
  await queue.admin.rows('select taskq.begin_rescue(_own => true, _gap_ms => 0, _page_blocks => 1000000)');
  expect(await queue.admin.value('select status::text from taskq.tasks')).toBe('pending');
  await late.rows('select queues.complete_task($1)', id);
  expect(await queue.admin.value('select count(*)::int from queues.task_completed')).toBe(1);
  expect(await dequeue(other)).toMatchObject({ task_id: null });
});

test('a failure counts, and of its message 8,000 characters are kept', async () => {
  const session = await queue.session();
  await enqueue(session);
  const { task_id: id } = await dequeue(session);
  await session.rows('select queues.fail_task($1, $2)', id, 'ä'.repeat(8001));
  expect(await errors()).toEqual([{ task_id: id, error_message: 'ä'.repeat(8000) }]);
  const counted = "select queue, type, tasks from taskq.counts where event = 'failed'";
  expect(await queue.admin.rows(counted)).toEqual([{ queue: 'queues', type: 'email', tasks: 1 }]);
});

test('the error with which a worker process gives a task up is among the errors', async () => {
  await queue.admin.rows(`select taskq.set_queue('queues', '{"on_failure": null}')`);
  await enqueue(queue.admin);
  const worker = await registerWorker(await queue.session(), { email: {} });
  const claimed = await claimOne(worker, { queues: ['queues'], types: ['email'] });
  await worker.settle(outcome(claimed, 'dead', { error: { name: 'Error', message: 'no' }, reason: 'so' }));
  expect(await errors()).toEqual([{ task_id: claimed.id, error_message: 'no' }]);
});

test('a task that has completed is completed again, also once its history is gone', async () => {
  const session = await queue.session();
  await enqueue(session);
  const { task_id: id } = await dequeue(session);
  await session.rows('select queues.complete_task($1)', id);
  await queue.admin.rows('delete from taskq.finished_tasks where id = $1', id);
  await session.rows('select queues.complete_task($1)', id);
  await expect(session.rows("select queues.fail_task($1, 'late')", id)).rejects.toMatchObject({
    code: 'P0002',
  });
});

test('what is enqueued without a payload has null, and without a time is due now', async () => {
  const session = await queue.session();
  await session.rows("select queues.enqueue('email', null, null)");
  expect(await dequeue(session)).toMatchObject({ task_type: 'email', payload: null });
  for (const at of ['infinity', '-infinity']) {
    await expect(session.rows("select queues.enqueue('email', '{}', $1)", at)).rejects.toMatchObject({
      code: '22023',
    });
  }
});

describe('a session with the process id of one that has ended', () => {
  const workers = () =>
    queue.admin.rows<{ id: number }>('select id from taskq.workers where session_role is not null');

  test.each(['stop_worker', 'pause_worker'])(
    'is another one: %s of that one is nothing to it',
    async (verb) => {
      const old = await queue.session();
      await dequeue(old);
      const [{ id } = { id: 0 }] = await workers();
      await queue.admin.rows(`select taskq.${verb}($1)`, id);
      await old.client.end();
      const fresh = await queue.session();
      await queue.admin.rows(
        'update taskq.workers set pid = $2 where id = $1',
        ...[id, await fresh.value('select pg_backend_pid()')],
      );
      await enqueue(queue.admin);
      expect(await dequeue(fresh)).toMatchObject({ task_type: 'email' });
      expect(
        await queue.admin.value('select stopped_at is not null from taskq.workers where id = $1', id),
      ).toBe(true);
    },
  );

  test('which does not change while it lives, so that who stops it stops it', async () => {
    const session = await queue.session();
    await enqueue(session);
    await session.rows('begin');
    await dequeue(session);
    await session.rows('rollback');
    expect(await dequeue(session)).toMatchObject({ task_type: 'email' });
    await dequeue(session);
    const [{ id } = { id: 0 }, ...others] = await workers();
    expect(others).toEqual([]);
    await queue.admin.rows('select taskq.stop_worker($1)', id);
    await enqueue(session);
    expect(await dequeue(session)).toMatchObject({ task_id: null });
  });
});

describe('what is refused', () => {
  test('a task that nobody has dequeued, or that does not exist, cannot be completed or failed', async () => {
    const session = await queue.session();
    await enqueue(session);
    const id = await queue.admin.value<string>('select task_id from queues.task');
    for (const call of ['queues.complete_task($1)', "queues.fail_task($1, 'x')"]) {
      await expect(session.rows(`select ${call}`, id)).rejects.toMatchObject({ code: '55000' });
      await expect(session.rows(`select ${call}`, '999999')).rejects.toMatchObject({ code: 'P0002' });
    }
  });

  test('a task that has ended, and that nobody has held, cannot be failed', async () => {
    const session = await queue.session();
    for (const end of ['taskq.cancel(array[$1::bigint])', "taskq.add_dead($1, 'why')"]) {
      await enqueue(session);
      const id = await queue.admin.value<string>('select id from taskq.tasks');
      await queue.admin.rows(`select * from ${end}`, id);
      await expect(session.rows("select queues.fail_task($1, 'x')", id)).rejects.toMatchObject({
        code: '55000',
        message: expect.stringMatching(/^fail_task: no session of role \w+ has held task \d+$/),
      });
    }
    expect(await errors()).toEqual([]);
  });

  test('unless a session of its role has, whose lease was over', async () => {
    const session = await queue.session();
    await enqueue(session);
    const { task_id: id } = await dequeue(session);
    await lapse(id);
    await queue.admin.rows('select taskq.begin_rescue(_own => true, _gap_ms => 0, _page_blocks => 1000000)');
    await queue.admin.rows('select * from taskq.cancel($1)', [id]);
    await session.rows("select queues.fail_task($1, 'late')", id);
    expect(await errors()).toEqual([{ task_id: id, error_message: 'late' }]);
  });

  test('an unknown type, and a transaction that would not see what others claim', async () => {
    const session = await queue.session();
    await expect(session.rows("select queues.enqueue('emial', '{}')")).rejects.toThrow(/emial/);
    await session.rows('begin isolation level repeatable read');
    await expect(dequeue(session)).rejects.toMatchObject({ code: '25000' });
    await session.rows('rollback');
  });

  test('what a worker process holds, which fences its own outcome', async () => {
    await enqueue(queue.admin);
    const worker = await registerWorker(await queue.session(), { email: {} });
    const claimed = await claimOne(worker, { queues: ['queues'], types: ['email'] });
    const session = await queue.session();
    await expect(session.rows('select queues.complete_task($1)', claimed.id)).rejects.toMatchObject({
      code: '42501',
      message: expect.stringMatching(/is held by worker /),
    });
    expect(await worker.settle(outcome(claimed, 'completed'))).toMatchObject([{ answer: 'recorded' }]);
  });
});

describe('with roles', () => {
  const [worker, other] = ['w', 'o'].map((name) => `${name}_${randomBytes(4).toString('hex')}`);

  beforeAll(async () => {
    for (const role of [worker, other]) {
      await queue.admin.client.query(`
        create role ${role};
        grant usage on schema queues, internal to ${role};
        grant execute on function queues.dequeue_next_available_task, queues.complete_task, queues.fail_task,
          internal.run_function to ${role};`);
    }
    await queue.admin.client.query(`
      create schema comms;
      grant usage on schema comms to ${worker};
      create function comms.get_email_payload(_payload jsonb) returns jsonb language sql security definer
      set search_path = pg_catalog, pg_temp as $$
        select jsonb_build_object('status', 'succeeded', 'payload', _payload)
      $$;
      create function comms.secret(_payload jsonb) returns jsonb language sql as 'select _payload';
      create function comms.nothing(_payload jsonb) returns void language sql as '';
      create domain comms.jsonb as pg_catalog.jsonb;
      revoke all on all functions in schema comms from public;
      grant execute on function comms.get_email_payload, comms.nothing to ${worker};`);
  });
  afterAll(async () => {
    await queue.admin.client.query(`drop owned by ${worker}, ${other}; drop role ${worker}, ${other};`);
  });

  async function as(role: string | undefined): Promise<Session> {
    const session = await queue.session();
    await session.rows(`set session authorization ${role}`);
    return session;
  }

  test('a worker needs what the specification grants it, and no table', async () => {
    await enqueue(queue.admin);
    const session = await as(worker);
    const { task_id: id } = await dequeue(session);
    await session.rows("select queues.fail_task($1, 'no')", id);
    await session.rows('select queues.complete_task($1)', id);
    for (const query of ["queues.enqueue('email', '{}')", '* from queues.task', '* from taskq.tasks'])
      await expect(session.rows(`select ${query}`)).rejects.toMatchObject({ code: '42501' });
    expect(await queue.admin.value('select name from taskq.list_workers()')).toMatch(
      new RegExp(`^${worker}:`),
    );
  });

  test('only sessions of the role that dequeued a task complete it, and fail it', async () => {
    await enqueue(queue.admin);
    const { task_id: id } = await dequeue(await as(worker));
    const stranger = await as(other);
    for (const call of ['queues.complete_task($1)', "queues.fail_task($1, 'x')"])
      await expect(stranger.rows(`select ${call}`, id)).rejects.toMatchObject({ code: '42501' });
    await (await as(worker)).rows('select queues.complete_task($1)', id);
    await expect(stranger.rows("select queues.fail_task($1, 'x')", id)).rejects.toMatchObject({
      code: '42501',
    });
    await stranger.rows('select queues.complete_task($1)', id);
  });

  test('a function is run by name, with its schema, by whoever may execute it', async () => {
    const session = await as(worker);
    const run = (name: string | null) =>
      session.value('select internal.run_function($1, $2)', name, JSON.stringify({ a: 1 }));
    expect(await run('comms.get_email_payload')).toEqual({ status: 'succeeded', payload: { a: 1 } });
    await expect(run('comms.secret')).rejects.toMatchObject({ code: '42501' });
    await expect(run('comms.unknown')).rejects.toMatchObject({ code: '42883' });
    await expect(run('comms.nothing')).rejects.toMatchObject({ code: '42P13' });
    for (const name of [null, '', 'get_email_payload', 'a.b.c', 'comms.f(jsonb); select 1', 'comms.', '"'])
      await expect(run(name), String(name)).rejects.toMatchObject({ code: '42602' });
  });

  test('so it is where the server quotes all names, and jsonb is hidden by a search path', async () => {
    const session = await as(worker);
    await session.rows('set quote_all_identifiers = on');
    const run = (name: string) => session.value("select internal.run_function($1, '{}')", name);
    for (const path of ['pg_catalog', 'comms, pg_catalog']) {
      await session.rows(`set search_path = ${path}`);
      expect(await run('comms.get_email_payload'), path).toEqual({ status: 'succeeded', payload: {} });
      await expect(run('comms.nothing'), path).rejects.toMatchObject({ code: '42P13' });
    }
  });
});

test('functions and payloads that are not as many are refused, none of them run', async () => {
  for (const [names, payloads, found] of [
    [['a.b'], [], '1 and 0'],
    [[], ['{}'], '0 and 1'],
    [['a.b'], ['{}', '{}'], '1 and 2'],
    [['a.b'], null, '1 and null'],
    [null, ['{}'], 'null and 1'],
    [null, null, 'null and null'],
  ]) {
    const run = queue.admin.rows('select internal.run_functions($1, $2::jsonb[])', names, payloads);
    await expect(run, String(found)).rejects.toMatchObject({
      code: '22023',
      message: `run_functions: expected as many payloads as function_names, not ${found}`,
    });
  }
  expect(await queue.admin.rows("select internal.run_functions('{}', '{}')")).toEqual([]);
});

describe('the record of leases', () => {
  const recorded = () => queue.admin.value<number>('select count(*)::int from taskq.leases');

  test('has the claims of workers where the queue asks for it, and no others', async () => {
    const worker = await registerWorker(await queue.session());
    await queue.admin.rows("select taskq.enqueue('work')");
    await worker.settle(outcome(await claimOne(worker), 'completed'));
    expect(await recorded()).toBe(0);
    await queue.admin.rows(`select taskq.set_queue('default', '{"record_leases": true}')`);
    await queue.admin.rows("select taskq.enqueue('work')");
    const claimed = await claimOne(worker);
    expect(await queue.admin.rows('select task_id, lease_no, owner, queue from taskq.leases')).toEqual([
      { task_id: claimed.id, lease_no: claimed.lease_no, owner: worker.id, queue: 'default' },
    ]);
    await queue.admin.rows(`select taskq.set_queue('default', '{"record_leases": null}')`);
    await worker.settle(outcome(claimed, 'completed'));
    await queue.admin.rows("select taskq.enqueue('work')");
    await claimOne(worker);
    expect(await recorded()).toBe(1);
  });

  test('keeps each lease as it was given: a renewal, a give-back or an end changes nothing there', async () => {
    await queue.admin.rows(`select taskq.set_queue('default', '{"record_leases": true}')`);
    const worker = await registerWorker(await queue.session());
    await queue.admin.rows("select taskq.enqueue('work')");
    const rows = () => queue.admin.rows('select * from taskq.leases order by id');
    const first = await claimOne(worker);
    const given = await rows();
    await worker.heartbeat([first]);
    await worker.giveBack([first]);
    expect(await rows()).toEqual(given);
    const second = await claimOne(worker);
    await worker.settle(outcome(second, 'completed'));
    expect(await rows()).toEqual([...given, expect.objectContaining({ lease_no: second.lease_no })]);
  });

  test('has one row for a task that a session dequeued, also if the queue records all', async () => {
    await queue.admin.rows(`select taskq.set_queue('queues', '{"record_leases": true}')`);
    await enqueue(queue.admin);
    await dequeue(await queue.session());
    expect(await recorded()).toBe(1);
  });
});

test('a program that connects for each task leaves a bounded number of rows, and ends no session that lives', async () => {
  const living = await queue.session();
  await dequeue(living);
  await queue.admin.rows(
    `insert into taskq.workers (id, name, host, pid, unique_part, started_at, heartbeat_at, lease_ms, concurrency, session_role, types)
     select n, n, 'r', 0, n, clock_timestamp(), clock_timestamp(), 300000, 1, 'r', '{}' from generate_series(1, 1500) as n`,
  );
  await dequeue(await queue.session());
  expect(await queue.admin.value('select count(*)::int from taskq.workers')).toBe(1002);
  expect(await queue.admin.value('select count(*)::int from taskq.workers where stopped_at is null')).toBe(2);
});

if (inject('systemBinDir') !== undefined) {
  test('plpgsql_check finds nothing in them', async (context) => {
    const available = "select exists (select from pg_available_extensions where name = 'plpgsql_check')";
    if (!(await queue.admin.value<boolean>(available))) return context.skip('it is not installed');
    await queue.admin.rows('create extension plpgsql_check');
    const found = await queue.admin.rows(
      `select p.proname, c.lineno, c.level, c.message, c.detail
       from pg_proc p cross join lateral plpgsql_check_function_tb(
         p.oid, fatal_errors => false, extra_warnings => true, security_warnings => true
       ) as c
       where p.pronamespace in ('queues'::regnamespace, 'internal'::regnamespace)`,
    );
    await queue.admin.rows('drop extension plpgsql_check');
    expect(found).toEqual([]);
  });
}
