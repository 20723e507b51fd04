import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { migrate } from '../../src/queue/schema/migrate.ts';
import { SQL } from '../../src/queue/schema/schema-release.ts';
import { applySupervisors } from '../examples/apply.ts';
import { type Session, useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';

/* What the supervisors of examples/supervisors decide, without a worker. */

const queue = useDatabase();
let install: string;

beforeAll(async () => {
  await migrate({ databaseUrl: queue.directUrl, with: ['queues'] });
  install = await readFile(join(SQL, 'with', 'queues', 'install.sql'), 'utf8');
  await applySupervisors(queue.admin.client);
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
    unknown: 'there is no e-mail 999',
    missing: 'email_message_id is missing',
    maxAttempts: 5,
  },
  {
    schema: 'comms',
    name: 'send_sms',
    kickoff: 'comms.kickoff_send_sms',
    supervisor: 'comms.send_sms_supervisor',
    rootId: 'send_sms_task_id',
    attemptId: 'send_sms_attempt_id',
    handlers: {
      before_handler: 'comms.get_sms_payload',
      success_handler: 'comms.record_sms_success',
      error_handler: 'comms.record_sms_failure',
    },
    tables: {
      root: 'comms.send_sms_task',
      attempt: 'comms.send_sms_attempt',
      succeeded: 'comms.send_sms_attempt_succeeded',
      failed: 'comms.send_sms_attempt_failed',
    },
    seed: `insert into comms.sms_message (to_number, body) values ('+4915550100', 'Hello') returning sms_message_id`,
    type: 'sms',
    prepared: { to_number: '+4915550100', body: 'Hello' },
    unknown: 'there is no text message 999',
    missing: 'sms_message_id is missing',
    maxAttempts: 5,
  },
  {
    schema: 'files',
    name: 'file_deletion',
    kickoff: 'files.kickoff_file_deletion',
    supervisor: 'files.file_deletion_supervisor',
    rootId: 'file_deletion_task_id',
    attemptId: 'file_deletion_attempt_id',
    handlers: {
      before_handler: 'files.get_file_delete_payload',
      success_handler: 'files.record_file_delete_success',
      error_handler: 'files.record_file_delete_failure',
    },
    tables: {
      root: 'files.file_deletion_task',
      attempt: 'files.file_deletion_attempt',
      succeeded: 'files.file_deletion_task_succeeded',
      failed: 'files.file_deletion_task_failed',
    },
    seed: `insert into files.file (bucket, object_key) values ('recordings', 'ann/1.wav') returning file_id`,
    type: 'file_delete',
    prepared: { bucket: 'recordings', object_key: 'ann/1.wav' },
    unknown: 'there is no file 999',
    missing: 'file_id is missing',
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
    expect(await supervise({ [rootId]: 'abc' })).toEqual({ status: `missing_${rootId}` });
    expect(await supervise({ [rootId]: 999_999 })).toEqual({
      status: `${tables.root.split('.')[1]}_not_found`,
    });
    for (const [key, name] of Object.entries(handlers)) {
      const given = (payload: object) => (key === 'before_handler' ? payload : { original_payload: payload });
      expect(await call(name, given({}))).toEqual({ status: 'missing_attempt_id' });
      expect(await call(name, given({ [attemptId]: 1.5 }))).toEqual({ status: 'missing_attempt_id' });
      expect(await call(name, given({ [attemptId]: 999_999 }))).toEqual({ status: 'attempt_not_found' });
    }
  });
});

describe('accounts', () => {
  beforeEach(() => queue.admin.rows('truncate accounts.account, files.file cascade'));

  /** Makes an account with this many files, and returns its id. */
  const makeAccount = (files: number) =>
    queue.admin.value<string>(
      `with account as (
         insert into accounts.account (email_address, display_name) values ('ann@example.org', 'Ann') returning account_id
       ), recording as (
         insert into files.file (bucket, object_key) select 'recordings', n from generate_series(1, $1) as n returning file_id
       ), file as (
         insert into accounts.account_file select account_id, file_id from account, recording
       )
       select account_id from account`,
      files,
    );
  const request = (id: unknown) =>
    queue.admin.value<string | null>('select api.request_account_deletion($1)', id);

  /** Runs what waits until nothing does, as workers would, without the pauses. */
  async function runAll(
    deletes: 'success_handler' | 'error_handler' = 'success_handler',
  ): Promise<unknown[]> {
    const answers: unknown[] = [];
    for (;;) {
      const taken = await takeAll();
      if (taken.length === 0) return answers;
      for (const { type, payload } of taken) {
        if (type === 'db_function') answers.push(await call(payload.db_function, payload));
        else await call(payload[deletes], { original_payload: payload, error: '403 Forbidden' });
      }
    }
  }

  const outcome = async () => ({
    ...(await queue.admin.row<Record<string, unknown>>(
      `select (select count(*)::integer from accounts.account_deletion_task_succeeded) as succeeded,
         array(select error_message from accounts.account_deletion_task_failed) as failed,
         array(select flag from accounts.account_flag order by flag) as flags,
         (select count(*)::integer from files.file_metadata where metadata @> '{"deleted": true}') as deleted,
         (select email_address from accounts.account) as email_address`,
    )),
  });

  test.each([0, 2])('an account with %i files is deleted once they are, and anonymized', async (files) => {
    const id = await makeAccount(files);
    expect([await request(id), await request(id)]).toEqual([null, null]);
    await runAll();
    expect(await outcome()).toEqual({
      ...{ succeeded: 1, failed: [], flags: ['anonymized', 'deleted'], deleted: files, email_address: null },
    });
  });

  test('a file that cannot be deleted ends the deletion, and the account is not anonymized', async () => {
    await request(await makeAccount(2));
    expect((await runAll('error_handler')).at(-1)).toEqual({ status: 'account_deletion_failed' });
    const first = await queue.admin.value<string>('select min(file_id) from files.file');
    expect(await outcome()).toEqual({
      ...{ succeeded: 0, failed: [`deletion of file ${first} is stuck`], flags: ['deleted'], deleted: 0 },
      email_address: 'ann@example.org',
    });
    expect(await queue.admin.value('select count(*)::integer from files.file_deletion_task_failed')).toBe(10);
  });

  test('an anonymization that fails again and again ends the deletion, with each failure on record', async () => {
    await queue.admin.rows(
      'alter table accounts.account add constraint the_address_stays check (email_address is not null)',
    );
    await request(await makeAccount(1));
    await runAll();
    expect(await outcome()).toEqual({
      ...{ succeeded: 0, failed: ['account anonymization is stuck'], flags: ['deleted'], deleted: 1 },
      email_address: 'ann@example.org',
    });
    const failures = await queue.admin.rows<{ error_message: string }>(
      'select error_message from accounts.account_anonymization_task_failed',
    );
    expect(failures).toHaveLength(5);
    for (const { error_message } of failures) expect(error_message).toMatch(/the_address_stays/);
    await queue.admin.rows('alter table accounts.account drop constraint the_address_stays');
  });

  test('kickoffs say what is wrong with their ids, and do nothing', async () => {
    expect([await request(999), await request(null)]).toEqual([
      'there is no account 999',
      'account_id is missing',
    ]);
    const anonymize = 'select accounts.kickoff_account_anonymization($1)';
    expect(await queue.admin.value(anonymize, 999)).toBe('there is no account 999');
    expect(await queue.admin.value(anonymize, null)).toBe('account_id is missing');
    expect(await takeAll()).toEqual([]);
  });

  test.each(['account_deletion', 'account_anonymization'])(
    'two runs of %s_supervisor at once, or one after the other, act once',
    async (name) => {
      const id = await makeAccount(1);
      expect(await queue.admin.value(`select accounts.kickoff_${name}($1)`, id)).toBeNull();
      const { payload } = await takeOne('db_function');
      const [one, other] = [await queue.session(), await queue.session()];
      await queue.admin.rows(
        'alter table accounts.account add constraint the_address_stays check (email_address is not null)',
      );
      await one.rows('begin');
      await call(payload.db_function, payload, one);
      const waiting = call(payload.db_function, payload, other);
      await waitUntilBlocked(queue.admin);
      await one.rows('commit');
      expect(await waiting).toEqual({ status: 'superseded' });
      expect(await call(payload.db_function, payload)).toEqual({ status: 'superseded' });
      const next = (await takeAll()).filter(
        ({ payload: { db_function } }) => db_function === payload.db_function,
      );
      expect(next).toMatchObject([{ payload: { ...payload, check: 2 } }]);
      await queue.admin.rows('alter table accounts.account drop constraint the_address_stays');
      for (const [given, status] of [
        [{}, `missing_${name}_task_id`],
        [{ [`${name}_task_id`]: 999_999 }, `${name}_task_not_found`],
      ] as const)
        expect(await call(payload.db_function, given)).toEqual({ status });
    },
  );
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
  expect(functions.filter(({ name }) => isCalled.test(name))).toHaveLength(14);
});
