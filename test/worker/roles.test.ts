import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

/* A worker whose role has what `taskq grants --worker` gives it, and no right on any table of the queue. */

const queue = useWorkers('file');

const HANDLERS = {
  'hello.mjs': 'export default async (payload, ctx) => { ctx.log.info("hello", payload); return payload; };',
  'next.mjs': "export default async (payload, ctx) => { ctx.enqueue('hello', { from: ctx.id }); };",
  'sum.mjs': 'export default async (payload, ctx) => ctx.parents();',
  'note.mjs': `export default async ({ tenant }, ctx) =>
    ctx.transaction(async (client) => {
      await client.query("select set_config('shop.tenant', 'a', true)");
      await client.query('insert into notes (task_id, tenant) values ($1, $2)', [ctx.id, tenant]);
      const { rows } = await client.query('select count(*)::int as seen from notes');
      return rows[0];
    });`,
  'fail.mjs': "export default async () => { throw new RangeError('never'); };",
};

let role: string;
let handlers: string;
let url: string;

beforeAll(async () => {
  role = `worker_${await queue.value<string>('select current_database()')}`;
  url = queue.url.replace(/\/\/[^@/]*@/, `//${role}@`);
  handlers = await temporaryDirectory();
  await mkdir(handlers, { recursive: true });
  for (const [name, text] of Object.entries(HANDLERS)) await writeFile(join(handlers, name), text);
  await queue.rows(`create role ${role} login`);
  expect(await queue.run('grants', '--worker', role, '--apply')).toMatchObject({ code: 0 });
  // A table of the application, of whose rows a session sees and writes those of its tenant.
  await queue.rows('create table notes (task_id bigint, tenant text)');
  await queue.rows('alter table notes enable row level security');
  await queue.rows("create policy of_tenant on notes using (tenant = current_setting('shop.tenant', true))");
  await queue.rows(`grant select, insert on notes to ${role}`);
  await queue.rows("insert into notes (tenant) values ('b')");
});

afterAll(async () => {
  await queue.rows(`drop owned by ${role} cascade`);
  await queue.rows(`drop role ${role}`);
});

const work = (...args: string[]) =>
  queue.work(['--concurrency', '4', ...args], { url, handlers, env: { TASKQ_DIRECT_URL: url } });

test('runs tasks, schedules, groups, workflows, transactions, follow-ups and logs, and is refused nothing', async () => {
  await queue.run(
    'queues',
    'set',
    'grouped',
    '--group-limit',
    '1',
    '--max-running',
    '2',
    '--rate',
    '1000/1s',
  );
  await queue.rows("select taskq.set_type('fail', $1)", {
    keep_log: 'always',
    breaker: { failures: 5, within_ms: 60000 },
  });
  const [plain, from, noted, refused, failing] = [
    await queue.enqueue('hello', { n: 1 }),
    await queue.enqueue('next'),
    await queue.enqueue('note', { tenant: 'a' }),
    await queue.enqueue('note', { tenant: 'b' }, { max_attempts: 1 }),
    await queue.enqueue('fail', {}, { max_attempts: 2, on_dead: { type: 'hello' } }),
  ];
  const grouped = await queue.enqueueSome(6, 'hello', {}, { queue: 'grouped', group: 'ann' });
  await queue.rows("select taskq.set_schedule('often', '@every 1s', 'hello', options => $1)", {
    allow_unknown: true,
  });
  const steps = [
    { step: 'a', type: 'hello', payload: { a: 1 } },
    { step: 'b', type: 'sum', after: ['a'] },
  ];
  const { extra } = (
    await queue.rows<{ extra: { steps: { b: string } } }>(
      'select extra from taskq.run_workflow($1, $2)',
      {
        name: 'w',
        steps,
      },
      { allow_unknown: true },
    )
  )[0]!;

  const worker = work();
  for (const id of [plain, from, noted, extra.steps.b, ...grouped]) await queue.hasStatus(id, 'completed');
  for (const id of [refused, failing]) await queue.hasStatus(id, 'dead');
  await until(
    async () =>
      (await queue.value("select last_status from taskq.list_schedules() where name = 'often'")) ===
      'completed',
    async () => 'the schedule has enqueued nothing that completed',
  );
  expect(await queue.task(noted)).toMatchObject({ result: { seen: 1 } });
  expect(await queue.task(refused)).toMatchObject({
    error: { message: 'new row violates row-level security policy for table "notes"', code: '42501' },
  });
  expect(await queue.task(extra.steps.b)).toMatchObject({ result: { a: { result: { a: 1 } } } });
  expect(
    await queue.rows('select source, created_by from taskq.all_tasks where payload @> $1', { from }),
  ).toEqual([{ source: `follow-up of ${from}`, created_by: role }]);
  worker.kill('SIGTERM');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  expect(
    worker
      .logs()
      .filter(({ level }) => level === 'warn' || level === 'error')
      .map((line) => line.event),
  ).toEqual(expect.not.arrayContaining(['statement.failed', 'housekeeping.failed', 'partition.failed']));
  expect(eventsOf(worker, 'statement.failed')).toEqual([]);
  expect(worker.stderr()).not.toMatch(/denied/);
});

test('that may not vacuum says so once, and goes on', async () => {
  await queue.rows('alter table taskq.tasks set (autovacuum_enabled = false)');
  await queue.rows('select pg_stat_reset()');
  const worker = work('--types', 'hello');
  await until(
    async () => {
      await queue.enqueueSome(600, 'hello');
      await queue.drained();
      return eventsOf(worker, 'vacuum.forbidden').length > 0;
    },
    async () => 'it says nothing of the vacuum',
  );
  await queue.enqueueSome(600, 'hello');
  await queue.drained();
  worker.kill('SIGTERM');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  expect(eventsOf(worker, 'vacuum.forbidden')).toHaveLength(1);
  expect(eventsOf(worker, 'worker.vacuumed')).toEqual([]);
});

test('that may enqueue nothing buries a task that enqueues others, and runs the rest', async () => {
  await queue.run('schedule', 'remove', 'often');
  expect(await queue.run('grants', '--worker', role, '--no-follow-ups', '--apply')).toMatchObject({
    code: 0,
  });
  const worker = work();
  await worker.waitForLog(event('worker.started'));
  const [from, plain] = [await queue.enqueue('next'), await queue.enqueue('hello')];
  await queue.hasStatus(from, 'dead');
  await queue.hasStatus(plain, 'completed');
  expect(await queue.task(from)).toMatchObject({
    reason: 'outcome_not_stored',
    error: { message: expect.stringContaining('permission denied for function settle_and_enqueue') },
  });
  worker.kill('SIGTERM');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
});

test('that loses a right says which, and goes on when it is back', async () => {
  expect(await queue.run('grants', '--worker', role, '--apply')).toMatchObject({ code: 0 });
  const worker = work();
  await worker.waitForLog(event('worker.started'));
  await queue.rows(`revoke execute on function taskq.claim from ${role}`);
  const id = await queue.enqueue('hello');
  const line = await worker.waitForLog(event('statement.failed'));
  expect(line.error).toMatchObject({
    message: `role ${role} may not call taskq.claim — taskq grants --worker ${role} prints what it needs`,
  });
  expect(await queue.run('grants', '--worker', role, '--apply')).toMatchObject({ code: 0 });
  await queue.hasStatus(id, 'completed');
  worker.kill('SIGTERM');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
});

test('that runs functions of the application runs those that it was granted, and no other', async () => {
  const database = await queue.value<string>('select current_database()');
  await queue.rows(`grant create on database ${database} to taskq_owner`);
  expect(await queue.run('migrate', '--with', 'queues')).toMatchObject({ code: 0 });
  await queue.rows('create schema comms');
  for (const name of ['send', 'erase'])
    await queue.rows(
      `create function comms.${name}(payload jsonb) returns jsonb language sql security definer
       as $$ select '{"status": "succeeded"}'::jsonb || jsonb_build_object('payload', payload) $$`,
    );
  await queue.rows('revoke execute on function comms.erase from public');
  const given = ['--worker', role, '--functions', 'comms.send', '--apply'];
  expect(await queue.run('grants', ...given)).toMatchObject({ code: 0 });
  const functions = await temporaryDirectory();
  await writeFile(
    join(functions, 'db_function.mjs'),
    `import { dbFunctionHandler } from '${join(REPOSITORY, 'dist/bundled/index.js')}'; export default dbFunctionHandler();`,
  );
  const worker = queue.work([], { url, handlers: functions, env: { TASKQ_DIRECT_URL: url } });
  const [sent, erased] = [
    await queue.enqueue('db_function', { db_function: 'comms.send', to: 'ann' }, { max_attempts: 1 }),
    await queue.enqueue('db_function', { db_function: 'comms.erase' }, { max_attempts: 1 }),
  ];
  await queue.hasStatus(sent, 'completed');
  await queue.hasStatus(erased, 'dead');
  expect(await queue.task(sent)).toMatchObject({ result: { status: 'succeeded', payload: { to: 'ann' } } });
  expect(await queue.task(erased)).toMatchObject({ error: { name: 'FunctionNotGranted', code: '42501' } });
  worker.kill('SIGTERM');
  expect(await worker.exit).toEqual({ code: 0, signal: null });
});
