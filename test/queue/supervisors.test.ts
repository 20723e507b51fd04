import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../src/queue/schema/migrate.ts';
import { SQL } from '../../src/queue/schema/schema-release.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { type Session, useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';

/* What the supervisors of examples/supervisors decide, without a worker. */

const EXAMPLES = join(REPOSITORY, 'examples', 'supervisors');
const queue = useDatabase();
let install: string;

beforeAll(async () => {
  await migrate({ databaseUrl: queue.directUrl, with: ['queues'] });
  install = await readFile(join(SQL, 'with', 'queues', 'install.sql'), 'utf8');
  for (const name of ['comms']) {
    await queue.admin.client.query(await readFile(join(EXAMPLES, `${name}.sql`), 'utf8'));
  }
});
// The tables of the queue are emptied before each test.
beforeEach(() => queue.admin.client.query(install));

interface Waiting {
  readonly id: string;
  readonly type: string;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly delay_s: number;
}

/** Takes what waits off the queue, as workers would. */
const takeAll = () =>
  queue.admin.rows<Waiting>(
    `with taken as (delete from taskq.tasks returning *)
     select id, type, payload, greatest(0, round(extract(epoch from not_before - created_at)))::integer as delay_s
     from taken order by id`,
  );

async function takeOne(type: string): Promise<Waiting> {
  const taken = await takeAll();
  expect(taken).toMatchObject([{ type }]);
  return taken[0]!;
}

const call = (name: unknown, payload: object, session: Session = queue.admin) =>
  session.value<{ status: string; payload?: unknown }>(
    'select internal.run_function($1, $2)',
    name,
    JSON.stringify(payload),
  );

/** What differs between processes that send something by attempts. */
interface Process {
  readonly schema: string;
  /** The process: its root is `<name>_task`. */
  readonly name: string;
  readonly kickoff: string;
  readonly supervisor: string;
  /** The column of its root that names what is done, and of each attempt. */
  readonly rootId: string;
  readonly attemptId: string;
  readonly handlers: Readonly<Record<'before_handler' | 'success_handler' | 'error_handler', string>>;
  readonly tables: Readonly<Record<'root' | 'attempt' | 'succeeded' | 'failed', string>>;
  /** Makes what is done, and returns its id. */
  readonly seed: string;
  readonly type: string;
  readonly prepared: object;
  readonly unknown: string;
  readonly missing: string;
  readonly maxAttempts: number;
}

const PROCESSES: readonly Process[] = [
  {
    schema: 'comms',
    name: 'send_email',
    kickoff: 'comms.kickoff_send_email',
    supervisor: 'comms.send_email_supervisor',
    rootId: 'send_email_task_id',
    attemptId: 'send_email_attempt_id',
    handlers: {
      before_handler: 'comms.get_email_payload',
      success_handler: 'comms.record_email_success',
      error_handler: 'comms.record_email_failure',
    },
    tables: {
      root: 'comms.send_email_task',
      attempt: 'comms.send_email_attempt',
      succeeded: 'comms.send_email_attempt_succeeded',
      failed: 'comms.send_email_attempt_failed',
    },
    seed: `insert into comms.email_message (to_address, subject, body) values ('ann@example.org', 'Hello', 'How are you?')
      returning email_message_id`,
    type: 'email',
    prepared: { to_address: 'ann@example.org', subject: 'Hello', text: 'How are you?' },
    unknown: 'there is no e-mail message 999',
    missing: 'email_message_id is missing',
    maxAttempts: 5,
  },
];

describe.each(PROCESSES)('$schema.$name', (process) => {
  const { kickoff, supervisor, rootId, attemptId, handlers, tables, type, maxAttempts } = process;

  const kickOff = (id: unknown, session = queue.admin) =>
    session.value<string | null>(`select validation_failure_message from ${kickoff}($1)`, id);
  const count = (table: string) => queue.admin.value<number>(`select count(*)::integer from ${table}`);
  const facts = async () => ({
    attempts: await count(tables.attempt),
    succeeded: await count(tables.succeeded),
    failed: await count(tables.failed),
  });
  const supervise = (payload: object, session?: Session) => call(supervisor, payload, session);

  /** Makes what is done, kicks it off, and takes the task of the supervisor. */
  async function begun(): Promise<Waiting> {
    expect(await kickOff(await queue.admin.value(process.seed))).toBeNull();
    return takeOne('db_function');
  }
  /** Takes what a run of the supervisor has enqueued. */
  async function decided() {
    const taken = await takeAll();
    return {
      attempt: taken.find((task) => task.type === type),
      next: taken.find((task) => task.type === 'db_function'),
      others: taken.length - new Set(taken.map((task) => task.type)).size,
    };
  }
  /** Lets the attempt end as it does when the provider has answered, or not. */
  const succeeds = ({ payload }: Waiting) =>
    call(handlers.success_handler, { original_payload: payload, worker_payload: {} });
  const fails = ({ payload }: Waiting, error = 'no answer') =>
    call(handlers.error_handler, { original_payload: payload, error });

  beforeEach(() => queue.admin.rows(`truncate ${tables.root} cascade`));

  test('kickoff makes one root and one supervisor, however often it is called', async () => {
    const id = await queue.admin.value(process.seed);
    expect([await kickOff(id), await kickOff(id)]).toEqual([null, null]);
    expect(await count(tables.root)).toBe(1);
    const { payload } = await takeOne('db_function');
    expect(payload).toEqual({
      task_type: 'db_function',
      db_function: supervisor,
      [rootId]: await queue.admin.value(`select ${rootId}::integer from ${tables.root}`),
      check: 1,
    });
  });

  test('two kickoffs at once make one root and one supervisor', async () => {
    const id = await queue.admin.value(process.seed);
    const other = await queue.session();
    await other.rows('begin');
    await kickOff(id, other);
    const waiting = kickOff(id, await queue.session());
    await waitUntilBlocked(queue.admin);
    await other.rows('commit');
    expect(await waiting).toBeNull();
    await takeOne('db_function');
    expect(await count(tables.root)).toBe(1);
  });

  test('kickoff says what is wrong with its ids, and does nothing', async () => {
    expect(await kickOff(999)).toBe(process.unknown);
    expect(await kickOff(null)).toBe(process.missing);
    expect(await takeAll()).toEqual([]);
    expect(await count(tables.root)).toBe(0);
  });

  test('makes an attempt and its task, and looks again later', async () => {
    const { payload } = await begun();
    expect(await supervise(payload)).toEqual({ status: 'succeeded' });
    const { attempt, next, others } = await decided();
    expect(attempt).toMatchObject({
      payload: { task_type: type, [attemptId]: expect.any(Number), ...handlers },
      delay_s: 0,
    });
    expect(next!.payload).toEqual({ ...payload, check: 2 });
    expect([next!.delay_s > 0, others]).toEqual([true, 0]);
    expect(await call(handlers.before_handler, attempt!.payload)).toEqual({
      status: 'succeeded',
      payload: process.prepared,
    });
  });

  test('makes none while one is outstanding', async () => {
    await supervise((await begun()).payload);
    const { next } = await decided();
    expect(await supervise(next!.payload)).toEqual({ status: 'succeeded' });
    expect(await decided()).toMatchObject({ attempt: undefined, next: {}, others: 0 });
    expect(await facts()).toEqual({ attempts: 1, succeeded: 0, failed: 0 });
  });

  test('two runs at once make one attempt', async () => {
    const { payload } = await begun();
    const [one, other] = [await queue.session(), await queue.session()];
    await one.rows('begin');
    expect(await supervise(payload, one)).toEqual({ status: 'succeeded' });
    const waiting = supervise(payload, other);
    await waitUntilBlocked(queue.admin);
    await one.rows('commit');
    expect(await waiting).toEqual({ status: 'superseded' });
    expect(await decided()).toMatchObject({ attempt: {}, next: {}, others: 0 });
    expect(await count(tables.attempt)).toBe(1);
  });

  test('goes on as one chain when its runs come twice, and when one is called by hand', async () => {
    const { payload } = await begun();
    await supervise(payload);
    expect(await supervise(payload)).toEqual({ status: 'superseded' });
    const { next } = await decided();
    const { check: _, ...byHand } = payload;
    expect(await supervise(byHand)).toEqual({ status: 'succeeded' });
    expect(await supervise(next!.payload)).toEqual({ status: 'superseded' });
    expect(await decided()).toMatchObject({ attempt: undefined, next: { payload: { check: 3 } }, others: 0 });
  });

  test('ends when the attempt has succeeded, whatever comes again', async () => {
    await supervise((await begun()).payload);
    const { attempt, next } = await decided();
    expect([await succeeds(attempt!), await succeeds(attempt!)]).toMatchObject([
      { status: 'succeeded' },
      { status: 'succeeded' },
    ]);
    // The task of the attempt runs again.
    expect(await call(handlers.before_handler, attempt!.payload)).toEqual({ status: 'attempt_has_ended' });
    await fails(attempt!);
    expect(await facts()).toEqual({ attempts: 1, succeeded: 1, failed: 0 });
    expect(await supervise(next!.payload)).toEqual({ status: 'succeeded' });
    expect(await takeAll()).toEqual([]);
  });

  test('makes another attempt after a failure, later each time, and stops when it is stuck', async () => {
    let { payload } = await begun();
    const delays: number[] = [];
    for (let nth = 1; nth <= maxAttempts; nth++) {
      await supervise(payload);
      const { attempt, next } = await decided();
      delays.push(next!.delay_s);
      await fails(attempt!, `no answer ${nth}`);
      await fails(attempt!, 'again');
      payload = next!.payload;
    }
    expect(delays).toEqual(delays.toSorted((one, other) => one - other));
    expect(new Set(delays).size).toBe(maxAttempts);
    expect(await supervise(payload)).toEqual({ status: 'max_attempts_reached' });
    expect(await takeAll()).toEqual([]);
    expect(
      await queue.admin.rows(`select error_message from ${tables.failed} order by ${attemptId}`),
    ).toEqual(delays.map((_, n) => ({ error_message: `no answer ${n + 1}` })));
  });

  test('gives up an attempt whose task is lost, and does not do it any more', async () => {
    await supervise((await begun()).payload);
    const { attempt, next } = await decided();
    await queue.admin.rows(`update ${tables.attempt} set created_at = created_at - interval '25 h'`);
    await supervise(next!.payload);
    expect(await decided()).toMatchObject({ attempt: {}, next: {}, others: 0 });
    expect(await facts()).toEqual({ attempts: 2, succeeded: 0, failed: 1 });
    expect(await call(handlers.before_handler, attempt!.payload)).toEqual({ status: 'attempt_has_ended' });
  });

  test('names what is missing or unknown', async () => {
    expect(await supervise({})).toEqual({ status: `missing_${rootId}` });
    expect(await supervise({ [rootId]: 999_999 })).toEqual({
      status: `${tables.root.split('.')[1]}_not_found`,
    });
    for (const [key, name] of Object.entries(handlers)) {
      const given = (payload: object) => (key === 'before_handler' ? payload : { original_payload: payload });
      expect(await call(name, given({}))).toEqual({ status: 'missing_attempt_id' });
      expect(await call(name, given({ [attemptId]: 999_999 }))).toEqual({ status: 'attempt_not_found' });
    }
  });
});

test('every function runs as its owner, with a fixed search path, and is granted to the worker alone or to none', async () => {
  const functions = await queue.admin.rows<{ name: string; definer: boolean; path: string; callers: string }>(
    `select p.oid::regproc::text as name, p.prosecdef as definer,
       (select setting from unnest(p.proconfig) as setting where setting like 'search_path=%') as path,
       array_to_string(array(
         select case a.grantee when 0 then 'public' else a.grantee::regrole::text end from aclexplode(p.proacl) as a
         where a.grantee <> p.proowner
       ), ', ') as callers
     from pg_proc p where p.pronamespace::regnamespace::text in ('comms', 'files', 'accounts', 'api') order by 1`,
  );
  const isCalled = /_supervisor$|\.get_.*_payload$|\.record_/;
  expect(functions).toEqual(
    functions.map(({ name }) => ({
      ...{ name, definer: true, path: 'search_path=pg_catalog, pg_temp' },
      callers: isCalled.test(name) ? 'worker_service_user' : '',
    })),
  );
  expect(functions.filter(({ name }) => isCalled.test(name)).length).toBeGreaterThan(3);
});
