import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import type { RunSingle, SingleStatement } from '../../src/lib/open-transaction.ts';
import { TransactionPool } from '../../src/lib/transaction-pool.ts';
import { migrate } from '../../src/queue/schema/migrate.ts';
import { BriefFunctions } from '../../src/worker/attempt/brief-functions.ts';
import { FunctionCalls } from '../../src/worker/attempt/function-calls.ts';
import { useDatabase } from '../queue/session.ts';
import { openWay } from './support/proxy.ts';

/* Brief functions that are called at the same time share a transaction. */

const queue = useDatabase();
const pools: TransactionPool[] = [];

beforeAll(async () => {
  await migrate({ databaseUrl: queue.directUrl, with: ['queues'] });
  await queue.admin.client.query(readFileSync(join(import.meta.dirname, 'sql/functions.sql'), 'utf8'));
  await queue.admin.client.query(`
    create table shop.stock (article text primary key, sold integer not null default 0);
    insert into shop.stock values ('tea'), ('rum');
    create function shop.sell(payload jsonb) returns jsonb language plpgsql as $$
    begin
      update shop.stock set sold = sold + 1 where article = payload ->> 'article';
      return '{"status": "succeeded"}';
    end
    $$;
    do $$ begin if to_regrole('shop_guest') is null then create role shop_guest; end if; end $$`);
});
beforeEach(() => queue.admin.rows('truncate shop.calls'));
afterAll(() => Promise.all(pools.map((pool) => pool.close())));

const BRIEF = ['shop.act', 'shop.look', 'shop.sell'];

interface Act {
  readonly task: string;
  readonly do?: string;
  readonly signal?: AbortSignal;
  readonly inBatchOnly?: boolean;
  readonly [name: string]: unknown;
}

interface CallsOptions {
  /** How long a call waits for the transaction before it. */
  readonly longestWaitMs?: number;
  /** How much later each transaction ends, in milliseconds. */
  readonly laterMs?: number;
}

/** Calls functions that are known as brief, as a worker does; `sent`: how many calls each message had. */
function callsAt(url = queue.url, { longestWaitMs, laterMs = 0 }: CallsOptions = {}) {
  const pool = new TransactionPool({ databaseUrl: url, applicationName: 'calls', deadlineMs: 30_000 });
  pools.push(pool);
  const brief = new BriefFunctions();
  const sent: number[] = [];
  const counted = ({ text, values }: SingleStatement) =>
    text.includes('run_functions') ? (values[0] as readonly string[]).length : 1;
  const run: RunSingle = async (statement, read) => {
    sent.push(counted(statement));
    const value = await pool.run(statement, read);
    await sleep(laterMs);
    return value;
  };
  const calls = new FunctionCalls(run, brief, longestWaitMs);
  const call = (
    name: string,
    payload: object,
    { signal = new AbortController().signal, inBatchOnly = false }: Pick<Act, 'signal' | 'inBatchOnly'> = {},
  ) => {
    // However long they took on a busy machine.
    if (BRIEF.includes(name)) for (const _ of [1, 2, 3]) brief.ran(name, 0);
    return calls.call({ name, payload: JSON.stringify(payload), signal, timeoutMs: null, inBatchOnly });
  };
  const act = ({ signal, inBatchOnly, ...payload }: Act) =>
    call('shop.act', payload, { ...(signal && { signal }), ...(inBatchOnly && { inBatchOnly }) });
  return { brief, sent, call, act };
}

/** How often each was called and committed, by its mark. */
const committed = () =>
  queue.admin.rows<{ task: string; times: number }>(
    'select task, count(*)::integer as times from shop.calls group by 1 order by 1',
  );

const once = (...tasks: readonly string[]) => tasks.map((task) => ({ task, times: 1 }));

test('calls of one turn go out in one message, and each has its own answer', async () => {
  const { sent, act } = callsAt();
  const answers = await Promise.all(
    ['a', 'b', 'c'].map((task) => act({ task, do: 'answer', answer: { status: task } })),
  );
  expect(answers.map(({ status }) => status)).toEqual(['a', 'b', 'c']);
  expect(sent[0]).toBe(3);
  expect(await committed()).toEqual(once('a', 'b', 'c'));
});

test('a call alone, of a function not known as brief, or with a long payload has a transaction of its own', async () => {
  const { sent, act, call } = callsAt();
  await act({ task: 'a' });
  await Promise.all([
    call('shop.act', { task: 'b', long: 'x'.repeat(10_000) }),
    call('shop.null_answer', {}).catch(() => {}),
  ]);
  expect(sent).toEqual([1, 1, 1]);
  expect(await committed()).toEqual(once('a', 'b'));
});

test.each([
  ['raises', { do: 'raise', article: 'tea' }, { code: 'P0042', message: 'no stock of tea' }],
  ['answers what cannot be read', { do: 'answer', answer: [] }, { name: 'InvalidAnswer' }],
  ['ends its session', { do: 'terminate' }, { code: '57P01' }],
])('one that %s fails alone, and the others take effect once', async (_, payload, error) => {
  const { sent, act, brief } = callsAt();
  const calls = [act({ task: 'a' }), act({ task: 'failing', ...payload }), act({ task: 'c' })];
  const [first, failed, last] = await Promise.allSettled(calls);
  expect([first, last]).toMatchObject([{ status: 'fulfilled' }, { status: 'fulfilled' }]);
  expect(failed).toMatchObject({ status: 'rejected', reason: error });
  expect(sent[0]).toBe(3);
  expect(await committed()).toEqual(once('a', 'c'));
  expect(brief.expectedMs('shop.act')).toBeUndefined();
});

const NEVER_MS = 2 ** 31 - 1;

test('calls that are made while one is under way go out together after it', async () => {
  const { sent, act } = callsAt(queue.url, { longestWaitMs: NEVER_MS });
  await act({ task: 'before' });
  await queue.admin.rows('select pg_advisory_lock(16)');
  const calls = [act({ task: 'under way', do: 'wait' })];
  for (const task of ['a', 'b', 'c']) {
    await turn();
    calls.push(act({ task }));
  }
  await turn();
  expect(sent).toEqual([1, 1]);
  await queue.admin.rows('select pg_advisory_unlock(16)');
  await Promise.all(calls);
  // On a busy machine, those that have not begun after 20 ms go out in a further one.
  expect(sent.length).toBeLessThanOrEqual(4);
  expect(await committed()).toEqual(once('a', 'b', 'before', 'c', 'under way'));
});

test.each([
  ['takes long', {}],
  ['costs less than they do', { longestWaitMs: NEVER_MS }],
])('calls do not wait for one that %s', async (what, options) => {
  const { act } = callsAt(queue.url, options);
  // What a transaction costs is known after the first.
  if (what === 'takes long') await act({ task: 'before' });
  await queue.admin.rows('select pg_advisory_lock(16)');
  const underWay = act({ task: 'under way', do: 'wait' });
  await turn();
  await act({ task: 'a' });
  await queue.admin.rows('select pg_advisory_unlock(16)');
  await underWay;
});

test('a function is brief by the time that the server takes for it, not by that of its commit', async () => {
  const { act, brief } = callsAt(queue.url, { laterMs: 50 });
  await act({ task: 'before' });
  const ran = vi.spyOn(brief, 'ran');
  const beganAt = performance.now();
  await act({ task: 'a' });
  const [, tookMs] = ran.mock.lastCall!;
  expect(tookMs).toBeGreaterThan(0);
  expect(tookMs).toBeLessThanOrEqual(performance.now() - beganAt - 50);
});

test('one that waits for a lock keeps no other, and is interrupted without effect', async () => {
  const { act } = callsAt();
  await queue.admin.rows('select pg_advisory_lock(16)');
  const interruption = new AbortController();
  const waiting = act({ task: 'waiting', do: 'wait', signal: interruption.signal });
  await act({ task: 'a' });
  interruption.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'interrupted' });
  await queue.admin.rows('select pg_advisory_unlock(16)');
  expect(await committed()).toEqual(once('a'));
});

test('after a slow one the rest goes out in the next message, and that one alone from then on', async () => {
  const { sent, act, call, brief } = callsAt();
  await Promise.all([
    act({ task: 'slow', do: 'sleep', seconds: 0.03 }),
    call('shop.sell', { article: 'none' }),
    call('shop.sell', { article: 'none' }),
  ]);
  expect(sent.slice(0, 2)).toEqual([3, 2]);
  expect(brief.expectedMs('shop.act')).toBeUndefined();
  expect(await committed()).toEqual(once('slow'));
});

test('calls that may run in a batch only have not run where it comes to nothing, or to its time', async () => {
  const { sent, act } = callsAt();
  const inBatchOnly = true;
  const failing = await Promise.allSettled([
    act({ task: 'a', do: 'raise', article: 'tea' }),
    act({ task: 'b', inBatchOnly }),
  ]);
  expect(failing).toMatchObject([{ reason: { code: 'P0042' } }, { reason: { name: 'NotBegun' } }]);
  const other = callsAt();
  const slow = await Promise.allSettled([
    other.act({ task: 'slow', do: 'sleep', seconds: 0.03, inBatchOnly }),
    other.act({ task: 'c', inBatchOnly }),
  ]);
  expect(slow).toMatchObject([{ status: 'fulfilled' }, { reason: { name: 'NotBegun' } }]);
  await expect(other.act({ task: 'alone', inBatchOnly })).rejects.toMatchObject({ name: 'NotBegun' });
  expect([sent, other.sent]).toEqual([[2, 1], [2]]);
  expect(await committed()).toEqual(once('slow'));
});

test('what a function leaves in its session does not reach the next one', async () => {
  const { sent, act, call } = callsAt();
  const look = async () => (await call('shop.look', {})).payload;
  const clean = await look();
  for (const as of ['itself', 'shop_guest']) {
    const [, seen] = await Promise.all([act({ task: as, do: 'leave', as }), look()]);
    // Session locks stay until the commit.
    expect(seen).toEqual({ ...(clean as object), locks: expect.any(Number) });
    expect(await look()).toEqual(clean);
  }
  expect(sent).toContain(2);
  expect(await committed()).toEqual(once('itself', 'shop_guest'));
});

test('batches that lock the same rows in different orders all take effect once', async () => {
  const workers = [callsAt(), callsAt()];
  await queue.admin.rows('update shop.stock set sold = 0');
  for (const _ of [1, 2, 3, 4, 5]) {
    const sales = workers.flatMap(({ call }, n) =>
      (n === 0 ? ['tea', 'rum'] : ['rum', 'tea']).map((article) => call('shop.sell', { article })),
    );
    await Promise.all(sales);
  }
  expect(await queue.admin.rows('select article, sold from shop.stock order by 1')).toEqual([
    { article: 'rum', sold: 10 },
    { article: 'tea', sold: 10 },
  ]);
});

test('where the answer to the commit is lost, no call is repeated: each fails, and its task decides', async () => {
  const way = await openWay(queue.url);
  onTestFinished(() => way.close());
  const { sent, act } = callsAt(way.url);
  const lost = way.loseAnswerOf((asked) => asked.includes('commit;close all'));
  const ended = await Promise.allSettled([act({ task: 'a' }), act({ task: 'b' })]);
  await lost;
  expect(ended.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(sent).toEqual([2]);
  // If the first takes longer than a batch may, as on a busy machine, the second does not begin.
  expect([once('a'), once('a', 'b')]).toContainEqual(await committed());
});

test('a role that may not call run_functions calls each by itself', async () => {
  await queue.admin.client.query(`do $$ begin
    if to_regrole('shop_caller') is null then create role shop_caller login; end if;
    grant usage on schema internal, shop to shop_caller;
    grant execute on function internal.run_function(text, jsonb) to shop_caller;
    grant insert on shop.calls to shop_caller;
  end $$`);
  const { sent, act } = callsAt(queue.url.replace('postgres@', 'shop_caller@'));
  await Promise.all([act({ task: 'a' }), act({ task: 'b' })]);
  expect(sent).toEqual([2, 1, 1]);
  expect(await committed()).toEqual(once('a', 'b'));
});
