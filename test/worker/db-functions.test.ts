import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { openWay } from './support/proxy.ts';
import { event, eventsOf, useWorkers } from './support/workers.ts';

/* Tasks that call a SQL function named in their payload. */

const queue = useWorkers('file');
const HANDLERS = join(REPOSITORY, 'test/worker/sql/handlers');

const work = (args: readonly string[] = [], options: object = {}) =>
  queue.work(args, { handlers: HANDLERS, ...options });
const call = (db_function: unknown, payload: object = {}, options: object = {}, type = 'db_function') =>
  queue.enqueue(type, { db_function, ...payload }, { max_attempts: 1, ...options });

/** How often the function was called and committed, for a task by its mark. */
const calls = (task: string) =>
  queue.value<number>('select count(*)::integer from shop.calls where task = $1', task);

/** How many statements of functions run on the server, for a task by its mark. */
const running = (task = '') =>
  queue.value<number>(
    `select count(*)::integer from pg_stat_activity
    where datname = current_database() and query like '%run_function%' || $1 || '%' and state = 'active' and pid <> pg_backend_pid()`,
    task,
  );

beforeAll(async () => {
  await queue.rows(
    "do $$ begin if to_regrole('shop_guest') is null then create role shop_guest; end if; end $$",
  );
  expect(await queue.run('migrate', '--with', 'queues')).toMatchObject({ code: 0 });
  await queue.rows(readFileSync(join(HANDLERS, '../functions.sql'), 'utf8'));
});

describe.each(['db_function', 'apart', 'atomic'])('a task of type %s', (type) => {
  beforeAll(() => void work(['--types', type, '--queues', type]));

  const run = async (name: unknown, payload: object = {}, options: object = {}) => {
    const id = await call(name, payload, { queue: type, ...options }, type);
    await queue.ended(id);
    return queue.task(id);
  };

  test('passes its whole payload, exactly, and keeps the whole answer', async () => {
    const payload = {
      do: 'answer',
      task: `${type} whole`,
      answer: { status: 'succeeded', payload: { n: 1 } },
    };
    expect(await run('shop.act', payload)).toMatchObject({ status: 'completed', result: payload.answer });
    const id = await queue.value<string>(
      `select id from taskq.enqueue($1, '{"db_function":"shop.act","task":"exact","id":12345678901234567890.5}',
        jsonb_build_object('queue', $1::text))`,
      type,
    );
    await queue.ended(id);
    expect(
      await queue.value(
        "select payload ->> 'id' from shop.calls where task = 'exact' order by n desc limit 1",
      ),
    ).toBe('12345678901234567890.5');
  });

  test('completes with any other status, recorded as such', async () => {
    const answer = { status: 'max_attempts_reached', payload: null };
    expect(await run('shop.act', { do: 'answer', answer })).toMatchObject({
      status: 'completed',
      result: answer,
      attempts: 0,
    });
    const refused = { success: false, validation_failure_message: 'no such account' };
    expect(await run('shop.act', { do: 'answer', answer: refused })).toMatchObject({
      status: 'completed',
      result: refused,
    });
  });

  test.each([
    ['an unknown function', 'shop.nope', {}, 'UnknownFunction', '42883', /shop\.nope/],
    ['an unknown schema', 'nowhere.act', {}, 'UnknownFunction', '42883', /nowhere\.act/],
    ['a name without a schema', 'act', {}, 'UnknownFunction', '42602', /act/],
    [
      'what is no name',
      "shop.act(jsonb); drop table shop.calls; --'",
      {},
      'UnknownFunction',
      '42602',
      /drop table/,
    ],
    ['quotes', '"shop"."act"(\'{}\') --', {}, 'UnknownFunction', '42602', /act/],
    ['a null answer', 'shop.null_answer', {}, 'InvalidAnswer', null, /null/],
    ['another type', 'shop.text_answer', {}, 'InvalidAnswer', '42P13', /does not return/],
    [
      'an answer without a status',
      'shop.act',
      { do: 'answer', answer: {} },
      'InvalidAnswer',
      null,
      /neither/,
    ],
    ['an array', 'shop.act', { do: 'answer', answer: [] }, 'InvalidAnswer', null, /array/],
    [
      'a status that is no string',
      'shop.act',
      { do: 'answer', answer: { status: 7 } },
      'InvalidAnswer',
      null,
      /status/,
    ],
    [
      'a missing function within',
      'shop.act',
      { do: 'call nothing' },
      'FunctionFailed',
      '42883',
      /there_is_no_such/,
    ],
    ['a commit', 'shop.act', { do: 'commit' }, 'FunctionFailed', '2D000', /transaction/],
    ['a constraint at the commit', 'shop.fail_at_commit', {}, 'FunctionFailed', '23505', /late/],
  ])('fails with %s, by name and without a trace', async (_, name, payload, error, code, message) => {
    const before = await queue.value('select count(*) from shop.calls');
    const task = await run(name, payload);
    expect(task).toMatchObject({
      status: 'dead',
      attempts: 1,
      error: { code, message: expect.stringMatching(message) },
    });
    // The commit of an atomic one is the worker's own statement.
    if (code !== '23505' || type !== 'atomic') expect(task.error).toMatchObject({ name: error });
    expect(await queue.value('select count(*) from shop.calls')).toBe(before);
  });

  test('fails with what a function answers that has failed', async () => {
    const answer = { success: false, error: 'the shop is closed' };
    expect(await run('shop.act', { do: 'answer', answer })).toMatchObject({
      status: 'dead',
      error: { name: 'FunctionFailed', message: 'the shop is closed' },
    });
  });

  test.each([
    [{ db_function: 7 }, /\$\.db_function/],
    [{}, /\$\.db_function/],
    [{ db_function: ' ' }, /\$\.db_function/],
    [[], /an object/],
    ['shop.act', /an object/],
    [null, /an object/],
  ])('is a dead letter at once with the payload %j', async (payload, message) => {
    const id = await queue.enqueue(type, payload, { queue: type });
    await queue.ended(id);
    expect(await queue.task(id)).toMatchObject({
      status: 'dead',
      reason: 'invalid_payload',
      error: { message: expect.stringMatching(message) },
    });
  });

  test('fails with SQLSTATE, message, detail, hint and context of what the function raised', async () => {
    const { error } = await run('shop.act', { do: 'raise', article: 'tea' });
    expect(error).toMatchObject({ name: 'FunctionFailed', code: 'P0042', message: 'no stock of tea' });
    expect((error as { stack: string }).stack).toMatch(
      /no stock of tea\nDETAIL: Two are ordered\.\nHINT: Order more\.\nCONTEXT: PL\/pgSQL function shop\.act\(jsonb\) line \d+ at RAISE/,
    );
  });

  test('ends at its timeout, and when it is cancelled, and its statement with it', async () => {
    const late = await run(
      'shop.act',
      { do: 'sleep', seconds: 3600, task: `${type} late` },
      { timeout_ms: 500 },
    );
    expect(late).toMatchObject({ status: 'dead', error: { name: 'TimeoutError' } });
    await expect.poll(() => running()).toBe(0);
    const id = await call(
      'shop.act',
      { do: 'sleep', seconds: 3600, task: `${type} late` },
      { queue: type },
      type,
    );
    await expect.poll(() => running()).toBe(1);
    expect(await queue.run('cancel', id)).toMatchObject({ code: 0 });
    await queue.hasStatus(id, 'cancelled');
    await expect.poll(() => running()).toBe(0);
    expect(await calls(`${type} late`)).toBe(0);
  });

  test('runs under a timeout that the server cannot count', async () => {
    expect(await run('shop.act', {}, { timeout_ms: 3_000_000_000 })).toMatchObject({ status: 'completed' });
  });

  test('survives the loss of its connection, and is tried again', async () => {
    const id = await call('shop.act', { do: 'terminate' }, { queue: type, max_attempts: 2 }, type);
    await queue.ended(id);
    const errors = await queue.errors(id);
    expect(errors).toHaveLength(2);
    expect(await run('shop.act', { task: `${type} after` })).toMatchObject({ status: 'completed' });
  });

  test('leaves nothing in the session to the next one', async () => {
    const look = async () => ((await run('shop.look')).result as { payload: unknown }).payload;
    const clean = await look();
    for (const _ of [1, 2, 3]) {
      // The completion of an atomic one needs the worker's own role.
      const as = type === 'atomic' ? 'itself' : 'shop_guest';
      expect(await run('shop.act', { do: 'leave', as })).toMatchObject({ status: 'completed' });
      expect(await look()).toEqual(clean);
    }
  });
});

test('calls a function with an odd name, quoted as in SQL', async () => {
  work(['--queues', 'odd']);
  const id = await call('shop."Odd ""Name"""', {}, { queue: 'odd' });
  await queue.hasStatus(id, 'completed');
  expect(await queue.task(id)).toMatchObject({ result: { payload: 'odd' } });
});

/** Enqueues tasks for a worker with one slot, every fiftieth of which fails, and waits until all have ended. */
async function runBrief(mark: string, count: number, failing: 'raise' | null): Promise<void> {
  await queue.rows(
    `select count(*) from taskq.enqueue_many((
      select jsonb_agg(jsonb_build_object('type', 'db_function', 'queue', $1::text, 'max_attempts', 1, 'payload',
        jsonb_build_object('db_function', 'shop.act', 'task', $1 || n, 'do', case when n % 50 = 0 then $3::text end)))
      from generate_series(1, $2) as n))`,
    mark,
    count,
    failing,
  );
  const worker = work(['--queues', mark, '--concurrency', '1', '--until-idle']);
  expect(await worker.exit).toMatchObject({ code: 0 });
}

const callsOf = (mark: string) =>
  queue.rows<{ tasks: number; calls: number; transactions: number; beside: number }>(
    `select count(distinct task)::integer as tasks, count(*)::integer as calls,
      count(distinct xact)::integer as transactions, count(*) filter (where not alone)::integer as beside
    from shop.calls where task ~ ($1 || '[0-9]+')`,
    mark,
  );

test('brief functions share a slot, and none runs beside another', async () => {
  // On a busy machine it may take a while until three runs in a row are brief.
  for (let round = 1, transactions = 500; transactions === 500; round++) {
    await runBrief(`shared-${round}-`, 500, null);
    const [found] = await callsOf(`shared-${round}-`);
    expect(found).toMatchObject({ tasks: 500, calls: 500, beside: 0 });
    transactions = found!.transactions;
  }
});

test('those that share the slot of one that fails wait for their turn, and lose no attempt', async () => {
  await runBrief('beside', 500, 'raise');
  expect(await callsOf('beside')).toMatchObject([{ tasks: 490, calls: 490, beside: 0 }]);
  expect(
    await queue.rows(
      `select status, attempts, count(*)::integer as tasks
      from taskq.all_tasks where queue = 'beside' group by 1, 2 order by 1`,
    ),
  ).toEqual([
    { status: 'completed', attempts: 0, tasks: 490 },
    { status: 'dead', attempts: 1, tasks: 10 },
  ]);
});

test('is undone with its worker, and runs again elsewhere, when that is killed', async () => {
  const session = await queue.session();
  await session.query('select pg_advisory_lock(16)');
  const worker = work(['--queues', 'killed']);
  const id = await call('shop.act', { do: 'wait', task: 'killed' }, { queue: 'killed' });
  await expect.poll(() => running('killed')).toBe(1);
  worker.kill('SIGKILL');
  await worker.exit;
  await session.query('select pg_advisory_unlock(16)');
  await expect.poll(() => running('killed')).toBe(0);
  expect(await calls('killed')).toBe(0);
  work(['--queues', 'killed']);
  await queue.hasStatus(id, 'completed');
  expect(await calls('killed')).toBe(1);
  expect(await queue.task(id)).toMatchObject({ losses: 1, attempts: 0 });
});

test('runs again when the answer to its commit is lost, unless it is atomic: then it is committed once', async () => {
  const way = await openWay(queue.url);
  onTestFinished(() => way.close());
  const worker = work(['--queues', 'lost'], { url: way.url, env: { TASKQ_LEASE: '20s' } });
  await worker.waitForLog(event('worker.started'));
  for (const [type, times] of [
    ['db_function', 2],
    ['atomic', 1],
  ] as const) {
    const end = type === 'atomic' ? 'complete_transaction' : 'commit;close all';
    const lost = way.loseAnswerOf((asked) => asked.includes(end));
    const id = await call('shop.act', { task: `${type} lost` }, { queue: 'lost', max_attempts: 2 }, type);
    await lost;
    await queue.hasStatus(id, 'completed');
    expect(await calls(`${type} lost`)).toBe(times);
  }
  expect(eventsOf(worker, 'lease.lost')).toEqual([]);
});

test('a worker serves on while the database is away, and completes what it could not', async () => {
  const way = await openWay(queue.url);
  onTestFinished(() => way.close());
  const worker = work(['--queues', 'away'], { url: way.url, env: { TASKQ_LEASE: '20s' } });
  await worker.waitForLog(event('worker.started'));
  const session = await queue.session();
  await session.query('select pg_advisory_lock(16)');
  const id = await call('shop.act', { do: 'wait', task: 'away' }, { queue: 'away', max_attempts: 5 });
  await expect.poll(() => running('away')).toBe(1);
  way.cut();
  way.heal();
  await session.query('select pg_advisory_unlock(16)');
  await queue.hasStatus(id, 'completed');
  expect(await calls('away')).toBe(1);
  worker.kill();
  expect(await worker.exit).toMatchObject({ code: 0 });
});

describe('a worker with a role of its own', () => {
  const asWorker = () => queue.url.replace('postgres@', 'shop_worker@');

  test('calls what it is granted, and fails by name what it is not', async () => {
    await queue.rows(`do $$ begin
      if to_regrole('shop_worker') is null then create role shop_worker login; end if;
      grant usage on schema taskq, internal, shop to shop_worker;
      grant execute on all functions in schema taskq, internal to shop_worker;
    end $$`);
    await queue.rows('alter function shop.act(jsonb) security definer');
    await queue.rows('revoke all on schema hidden from public');
    work(['--queues', 'roles'], { url: asWorker() });
    const ends = async (name: string) => {
      const id = await call(name, {}, { queue: 'roles' });
      await queue.ended(id);
      return queue.task(id);
    };
    expect(await ends('shop.act')).toMatchObject({ status: 'completed' });
    for (const name of ['shop.secret', 'hidden.act']) {
      expect(await ends(name)).toMatchObject({
        status: 'dead',
        error: { name: 'FunctionNotGranted', code: '42501', message: expect.stringContaining(name) },
      });
    }
    // What it may not do itself, though it may be called.
    expect(await ends('shop.fail_at_commit')).toMatchObject({
      status: 'dead',
      error: { name: 'FunctionFailed', code: '42501', message: expect.stringMatching(/table late/) },
    });
    expect(await ends('shop.act')).toMatchObject({ status: 'completed' });
  });

  test('does not start without the function that calls, or the right to it, and says what to do', async () => {
    await queue.rows(
      'revoke execute on function internal.run_function(text, jsonb) from public, shop_worker',
    );
    const refused = work(['--types', 'db_function'], { url: asWorker() });
    expect(await refused.exit).toMatchObject({ code: 2 });
    expect(refused.stderr()).toMatch(
      /db_function\.mjs: role shop_worker may not call internal\.run_function — grant usage on schema internal/,
    );
    await queue.rows('alter schema internal rename to elsewhere');
    const missing = work(['--types', 'db_function']);
    expect(await missing.exit).toMatchObject({ code: 2 });
    expect(missing.stderr()).toMatch(
      /db_function\.mjs: the database has no function internal\.run_function — run taskq migrate --with queues/,
    );
    expect(await queue.value('select count(*)::integer from taskq.workers where name is null')).toBe(0);
    await queue.rows('alter schema elsewhere rename to internal');
  });
});
