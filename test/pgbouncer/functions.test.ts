import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, inject, test } from 'vitest';
import { migrate } from '../../src/queue/schema/migrate.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { useWorkers } from '../worker/support/workers.ts';

/* SQL functions as tasks, and channels, called through PgBouncer in transaction mode. */

const queue = useWorkers('file');

beforeAll(async () => {
  const name = await queue.value<string>('select current_database()');
  await migrate({
    databaseUrl: inject('serverUrl').replace('/postgres?', `/${name}?`),
    with: ['queues'],
  });
  for (const file of ['worker/sql/functions.sql', 'handlers/providers.sql'])
    await queue.rows(await readFile(join(REPOSITORY, 'test', file), 'utf8'));
  // The pooler connects as one user, whatever a client asks for: this gives its sessions a role.
  await queue.rows(`do $$ begin
    if to_regrole('pooled_worker') is null then create role pooled_worker; end if;
    grant usage on schema taskq, internal, shop, comms to pooled_worker;
    grant execute on all functions in schema taskq, internal, shop, comms to pooled_worker;
    grant insert on shop.calls, comms.facts to pooled_worker;
    grant usage on all sequences in schema shop, comms to pooled_worker;
    revoke execute on function shop.secret from pooled_worker;
    revoke usage on schema hidden from public;
    execute format('alter database %I set role = pooled_worker', current_database());
  end $$`);
  queue.work([], { handlers: join(import.meta.dirname, 'handlers') });
});

async function run(type: string, payload: unknown, options: object = {}) {
  const id = await queue.enqueue(type, payload, { max_attempts: 1, ...options });
  await queue.ended(id);
  return queue.task(id);
}

const calls = (task: string) =>
  queue.value<number>('select count(*)::integer from shop.calls where task = $1', task);

test('a function is called and committed once', async () => {
  expect(await run('db_function', { db_function: 'shop.act', task: 'pooled' })).toMatchObject({
    status: 'completed',
    result: { status: 'succeeded' },
  });
  expect(await calls('pooled')).toBe(1);
});

test('what cannot be called or read is a named error of its task, and the worker serves on', async () => {
  const act = (answer: unknown) => ({ db_function: 'shop.act', do: 'answer', task: 'wrong', answer });
  const faults: readonly (readonly [payload: unknown, error: string])[] = [
    [{ db_function: 'shop.nope' }, 'UnknownFunction'],
    [{ db_function: 'nowhere.act' }, 'UnknownFunction'],
    [{ db_function: 'act' }, 'UnknownFunction'],
    [{ db_function: 'shop.secret' }, 'FunctionNotGranted'],
    [{ db_function: 'hidden.act' }, 'FunctionNotGranted'],
    [{ db_function: 'shop.null_answer' }, 'InvalidAnswer'],
    [{ db_function: 'shop.text_answer' }, 'InvalidAnswer'],
    [act({ state: 'succeeded' }), 'InvalidAnswer'],
    [act([]), 'InvalidAnswer'],
    [act(null), 'InvalidAnswer'],
    [{ db_function: 'shop.act', do: 'raise', task: 'wrong' }, 'FunctionFailed'],
    [[], 'InvalidPayload'],
    ['shop.act', 'InvalidPayload'],
    [null, 'InvalidPayload'],
    [{}, 'InvalidPayload'],
  ];
  const ended = await Promise.all(faults.map(([payload]) => run('db_function', payload)));
  expect(ended.map(({ status, error }) => [status, (error as { name: string }).name])).toEqual(
    faults.map(([, name]) => ['dead', name]),
  );
  expect(await calls('wrong')).toBe(0);
  expect(await run('db_function', { db_function: 'shop.act' })).toMatchObject({ status: 'completed' });
  expect(await queue.value('select count(*)::integer from taskq.tasks')).toBe(0);
});

test('the statement of a function ends at the timeout of its task', async () => {
  const payload = { db_function: 'shop.act', do: 'sleep', seconds: 3600, task: 'late' };
  expect(await run('db_function', payload, { timeout_ms: 500 })).toMatchObject({
    status: 'dead',
    error: { name: 'TimeoutError' },
  });
  await expect
    .poll(() =>
      queue.value(`select count(*)::integer from pg_stat_activity
        where datname = current_database() and state = 'active' and query like '%"late"%' and pid <> pg_backend_pid()`),
    )
    .toBe(0);
  expect(await calls('late')).toBe(0);
});

test('a channel calls its provider between functions, and records a failure', async () => {
  const handlers = {
    before_handler: 'comms.get_payload',
    success_handler: 'comms.record_success',
    error_handler: 'comms.record_failure',
  };
  expect(await run('chat', { task: 'open', prepared: { room: 'open' }, ...handlers })).toMatchObject({
    result: { status: 'succeeded', worker_payload: { said: 'open' } },
  });
  expect(await run('chat', { task: 'closed', prepared: { room: 'closed' }, ...handlers })).toMatchObject({
    result: { status: 'failed', error: 'the room is closed' },
  });
  expect(await queue.rows('select task, fact from comms.facts order by n')).toEqual([
    { task: 'open', fact: 'succeeded' },
    { task: 'closed', fact: 'failed' },
  ]);
});
