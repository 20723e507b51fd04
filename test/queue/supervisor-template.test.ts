import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseProcessName } from '../../src/cli/init/process-name.ts';
import { RESERVED_WORDS } from '../../src/cli/init/reserved-words.ts';
import { readTemplate, supervisorSql } from '../../src/cli/init/supervisor.ts';
import { migrate } from '../../src/queue/schema/migrate.ts';
import { SQL } from '../../src/queue/schema/schema-release.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { type Session, useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';

/* What `taskq init --supervisor` writes, applied as it is, without a worker. */

const queue = useDatabase();
let install: string;
let template: Awaited<ReturnType<typeof readTemplate>>;

beforeAll(async () => {
  await migrate({ databaseUrl: queue.directUrl, with: ['queues'] });
  install = await readFile(join(SQL, 'with', 'queues', 'install.sql'), 'utf8');
  template = await readTemplate();
});
// The tables of the queue are emptied before each test.
beforeEach(() => queue.admin.client.query(install));

type Payload = Readonly<Record<string, unknown>>;

/** Takes what waits off the queue, as workers would: the payloads by type. */
async function takeAll(): Promise<Readonly<Record<string, Payload>>> {
  const taken = await queue.admin.rows<{ type: string; payload: Payload }>(
    'delete from taskq.tasks returning type, payload',
  );
  const byType = Object.fromEntries(taken.map(({ type, payload }) => [type, payload]));
  expect(Object.keys(byType)).toHaveLength(taken.length);
  return byType;
}

/** Calls the function that a task names. */
const call = (name: unknown, payload: Payload, session: Session = queue.admin) =>
  session.value<{ status: string; payload?: unknown }>(
    'select internal.run_function($1, $2)',
    name,
    JSON.stringify(payload),
  );
const supervise = (payload: Payload, session?: Session) => call(payload.db_function, payload, session);

test('a database without the schema queues refuses it, and names the command that makes it', async () => {
  const sql = supervisorSql(template.text, parseProcessName('early', 'has_<name>_succeeded_attempt'));
  await queue.admin.rows('begin');
  await queue.admin.rows('drop schema queues cascade');
  await expect(queue.admin.client.query(sql)).rejects.toMatchObject({
    message: expect.stringContaining('no schema queues'),
    hint: 'run taskq migrate --with queues',
  });
  await queue.admin.rows('rollback');
});

test('the owner of a schema can apply it there, without the right to create schemas', async () => {
  const { admin } = queue;
  const sql = supervisorSql(template.text, parseProcessName('owned.refund', 'has_<name>_succeeded_attempt'));
  await admin.rows('begin');
  await admin.rows('create role owner_of_refunds');
  await admin.rows('create schema owned authorization owner_of_refunds');
  await admin.rows('grant usage on schema queues to owner_of_refunds');
  await admin.rows('set local role owner_of_refunds');
  await admin.client.query(sql);
  expect(await admin.value('select owned.has_refund_succeeded_attempt(1)')).toBe(false);
  await admin.rows('rollback');
});

describe.each(['order-refund', 'food.user', `shop.${'a'.repeat(41)}`])('the process %s', (asked) => {
  const { schema, name } = parseProcessName(asked, 'has_<name>_succeeded_attempt');
  const kickOff = (id: unknown, session = queue.admin) =>
    session.value<string | null>(`select validation_failure_message from ${schema}.kickoff_${name}($1)`, id);
  const facts = () =>
    queue.admin.row(
      `select (select count(*)::integer from ${schema}.${name}_task) as tasks,
        ${schema}.count_${name}_attempts(t.${name}_task_id) as attempts,
        ${schema}.count_${name}_failed_attempts(t.${name}_task_id) as failed,
        ${schema}.has_${name}_succeeded_attempt(t.${name}_task_id) as succeeded,
        ${schema}.is_${name}_stuck(t.subject_id) as stuck
      from ${schema}.${name}_task t`,
    );

  beforeAll(() => queue.admin.client.query(supervisorSql(template.text, { schema, name })));
  beforeEach(() => queue.admin.rows(`truncate ${schema}.${name}_task cascade`));

  test('is kicked off once, makes one attempt, and ends when it has succeeded', async () => {
    expect([await kickOff(7), await kickOff(7)]).toEqual([null, null]);
    const { db_function: first } = await takeAll();
    expect(await supervise(first!)).toEqual({ status: 'succeeded' });
    const { [name]: attempt, db_function: second } = await takeAll();
    expect(await supervise(second!)).toEqual({ status: 'succeeded' });
    const { db_function: third, ...others } = await takeAll();
    expect(others).toEqual({});
    const task = { original_payload: attempt };
    expect(await call(attempt!.before_handler, attempt!)).toEqual({
      status: 'succeeded',
      payload: { subject_id: 7 },
    });
    expect(await call(attempt!.success_handler, { ...task, worker_payload: {} })).toEqual({
      status: 'succeeded',
    });
    expect(await call(attempt!.before_handler, attempt!)).toEqual({ status: 'attempt_has_ended' });
    expect(await call(attempt!.error_handler, { ...task, error: 'lost' })).toEqual({ status: 'succeeded' });
    expect(await supervise(third!)).toEqual({ status: 'succeeded' });
    expect(await takeAll()).toEqual({});
    expect(await facts()).toEqual({ tasks: 1, attempts: 1, failed: 0, succeeded: true, stuck: false });
  });

  test('makes another attempt after a failure, and is stuck after the fifth', async () => {
    await kickOff(7);
    let { db_function: payload } = await takeAll();
    for (let nth = 1; nth <= 5; nth++) {
      await supervise(payload!);
      const { [name]: attempt, db_function: next } = await takeAll();
      await call(attempt!.error_handler, { original_payload: attempt, error: `no answer ${nth}` });
      payload = next;
    }
    expect(await supervise(payload!)).toEqual({ status: 'max_attempts_reached' });
    expect(await takeAll()).toEqual({});
    expect(await facts()).toEqual({ tasks: 1, attempts: 5, failed: 5, succeeded: false, stuck: true });
  });

  test.each(['abc', 1.5, '', [7], '9'.repeat(30)])('answers an id that is %j like none', async (id) => {
    const original_payload = { [`${name}_attempt_id`]: id };
    const called = [
      ['supervisor', { [`${name}_task_id`]: id }, `missing_${name}_task_id`],
      ['payload', original_payload, 'missing_attempt_id'],
      ['success', { original_payload }, 'missing_attempt_id'],
      ['failure', { original_payload, error: 'no answer' }, 'missing_attempt_id'],
    ] as const;
    const names = { supervisor: `${name}_supervisor`, payload: `get_${name}_payload` };
    for (const [what, payload, status] of called) {
      const named = { ...names, success: `record_${name}_success`, failure: `record_${name}_failure` }[what];
      expect(await call(`${schema}.${named}`, payload), named).toEqual({ status });
    }
  });

  test('does nothing for a check that is no number', async () => {
    await kickOff(7);
    const { db_function: payload } = await takeAll();
    expect(await supervise({ ...payload, check: 'abc' })).toEqual({ status: 'superseded' });
    expect(await takeAll()).toEqual({});
  });

  test('makes no further attempt once one that was given up has succeeded after all', async () => {
    await kickOff(7);
    const { db_function: first } = await takeAll();
    await supervise(first!);
    const { [name]: late, db_function: second } = await takeAll();
    await queue.admin.rows(
      `update ${schema}.${name}_attempt set created_at = created_at - interval '2 days'`,
    );
    await supervise(second!);
    const { [name]: next, db_function: third } = await takeAll();
    await call(late!.success_handler, { original_payload: late, worker_payload: {} });
    expect(await call(next!.before_handler, next!)).toEqual({ status: 'attempt_has_ended' });
    expect(await supervise(third!)).toEqual({ status: 'succeeded' });
    expect(await takeAll()).toEqual({});
    expect(await facts()).toEqual({ tasks: 1, attempts: 2, failed: 1, succeeded: true, stuck: false });
  });

  test('is not kicked off without a subject, and says so', async () => {
    expect(await kickOff(null)).toBe('subject_id is missing');
    expect([await facts(), await takeAll()]).toEqual([undefined, {}]);
  });

  test('makes one attempt and goes on once, though its supervisor runs twice at once, and once more', async () => {
    await kickOff(7);
    const { db_function: payload } = await takeAll();
    const one = await queue.session();
    await one.rows('begin');
    await supervise(payload!, one);
    const other = supervise(payload!, await queue.session());
    await waitUntilBlocked(queue.admin);
    await one.rows('commit');
    // As after a worker that was killed between the commit and the completion of its task.
    expect([await other, await supervise(payload!)]).toEqual([
      { status: 'superseded' },
      { status: 'superseded' },
    ]);
    expect(Object.keys(await takeAll()).sort()).toEqual([name, 'db_function'].sort());
    expect(await facts()).toMatchObject({ attempts: 1 });
  });
});

test('the role of S2 may call what a worker calls, and everybody else nothing', async () => {
  const { admin } = queue;
  await admin.rows('begin');
  await admin.rows(
    "do $$ begin if to_regrole('worker_service_user') is null then create role worker_service_user; end if; end $$",
  );
  await admin.client.query(supervisorSql(template.text, { schema: 'granted', name: 'rebuild' }));
  const callers = await admin.rows<{ name: string; callers: string }>(
    `select p.proname as name, array_to_string(array(
       select case a.grantee when 0 then 'public' else a.grantee::regrole::text end from aclexplode(p.proacl) as a
       where a.grantee <> p.proowner
     ), ', ') as callers
     from pg_proc p where p.pronamespace = 'granted'::regnamespace order by 1`,
  );
  const usage = await admin.value("select has_schema_privilege('worker_service_user', 'granted', 'usage')");
  await admin.rows('rollback');
  const called = [
    'get_rebuild_payload',
    'rebuild_supervisor',
    'record_rebuild_failure',
    'record_rebuild_success',
  ];
  expect(callers.filter(({ callers }) => callers !== '')).toEqual(
    called.map((name) => ({ name, callers: 'worker_service_user' })),
  );
  expect([callers.length, usage]).toEqual([9, true]);
});

test('the words that cannot name a schema are those of the server', async () => {
  const words = await queue.admin.rows<{ word: string }>(
    "select word from pg_get_keywords() where catcode in ('R', 'T')",
  );
  expect(words.map(({ word }) => word).filter((word) => !RESERVED_WORDS.has(word))).toEqual([]);
  expect(RESERVED_WORDS.size - words.length).toBeLessThan(5);
});

test('it decides as the examples do, whose decisions are tested at length', async () => {
  const comms = await readFile(join(REPOSITORY, 'examples/supervisors/comms.sql'), 'utf8');
  const theirs = functionsOf(
    comms.replaceAll('send_email', 'foo').replaceAll('comms', 'domain').replaceAll('_email_', '_foo_'),
  );
  const ours = functionsOf(template.text);
  expect(ours.size).toBe(9);
  const lacking = (lines: readonly string[], others: readonly string[] = []) =>
    lines.filter((line) => !others.includes(line) && !IS_OF_ITS_OWN.test(line));
  for (const [name, lines] of ours) {
    expect(lacking(lines, theirs.get(name)), name).toEqual([]);
    expect(lacking(theirs.get(name)!, lines), name).toEqual([]);
  }
});

/** What an e-mail is there, and a subject here; and that here the type of the attempts may be new. */
const IS_OF_ITS_OWN =
  /^ *--|email|message|subject|_root|'foo'|(?:queues|taskq)\.enqueue\(|allow_unknown|^ *(?:\)[,;]?|return jsonb_build_object\(|'status', 'succeeded',)$/;

function functionsOf(sql: string): Map<string, string[]> {
  const found = sql.matchAll(/^create function (\S+)\([\s\S]*?^\$\$;$/gm);
  return new Map([...found].map(([text, name]) => [name!, text.split('\n')]));
}
