import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { explainTask } from '../../src/queue/inspect/explain-task.ts';
import { stats } from '../../src/queue/inspect/stats.ts';
import { claim } from '../../src/queue/protocol/claim.ts';
import { countUnfinished } from '../../src/queue/protocol/count-unfinished.ts';
import { explained, reportPlans } from '../sql/explained.ts';
import { claimerOf } from './claimer.ts';
import { enqueue, enqueueSome, lapse, liveRow, rescueAll } from './rows.ts';
import { useDatabase } from './session.ts';
import {
  type Claimed,
  claimOne,
  LEASE_MS,
  outcome,
  type PlainWorker,
  registerWorker,
  workerOf,
} from './worker.ts';

const queue = useDatabase();

let worker: PlainWorker;

const setBreaker = (breaker: object | null, type = 'work') =>
  queue.admin.rows('select taskq.set_type($1, $2)', type, { breaker });
const isOpen = (type = 'work') =>
  queue.admin.value<boolean>(
    'select exists (select from taskq.open_breakers(clock_timestamp()) where type = $1)',
    type,
  );
const fail = (task: Claimed, delayMs = 3_600_000) =>
  worker.settle(outcome(task, 'failed', { error: {}, delay_ms: delayMs }));
/** Lets this many milliseconds pass for the breakers. */
const pass = (ms: number) =>
  queue.admin.rows(
    `update taskq.breakers
     set failed_at = array(select f - $1 * interval '1 ms' from unnest(failed_at) as f),
       opened_at = opened_at - $1 * interval '1 ms', probed_at = probed_at - $1 * interval '1 ms',
       probe_from = probe_from - $1 * interval '1 ms'`,
    ms,
  );
/** A search for a probe that took long, as on a busy machine, is not repeated at once. */
const forgetCost = () => queue.admin.rows('update taskq.breakers set probe_from = null');
/** Fails this many tasks, one after the other, and claims once more. */
async function failSome(count: number): Promise<Claimed[]> {
  await enqueueSome(queue.admin, count);
  for (let n = 0; n < count; n++) await fail(await claimOne(worker));
  return worker.claim({ start: 1 });
}
/** Opens the breaker, with this many tasks waiting behind it. */
async function open(waiting: number): Promise<string[]> {
  const ids = await enqueueSome(queue.admin, 2 + waiting);
  for (let n = 0; n < 2; n++) await fail(await claimOne(worker));
  expect(await worker.claim({ start: 9 })).toEqual([]);
  return ids.slice(2);
}

beforeEach(async () => {
  worker = await registerWorker(queue.admin, { work: {}, other: {} });
  await setBreaker({ failures: 2, within_ms: 60_000, probe_after_ms: 30_000 });
});

describe('a breaker opens', () => {
  test('with as many failures as it allows, and then nothing of the type is claimed', async () => {
    const [, , , waiting] = await enqueueSome(queue.admin, 4);
    await fail(await claimOne(worker));
    const still = await claimOne(worker);
    expect(await isOpen()).toBe(false);
    await fail(still);
    expect(await worker.claim({ start: 9, ahead: 9 })).toEqual([]);
    expect(await isOpen()).toBe(true);
    expect(await liveRow(queue.admin, waiting!)).toMatchObject({
      attempts: 0,
      lease_no: 0,
      status: 'pending',
    });
  });

  test('not when they lie further apart', async () => {
    await enqueueSome(queue.admin, 4);
    await fail(await claimOne(worker));
    const second = await claimOne(worker);
    await pass(60_001);
    await fail(second);
    const third = await claimOne(worker);
    await fail(third);
    expect(await worker.claim()).toEqual([]);
  });

  test('for its type alone', async () => {
    const [ids] = [await open(1)];
    await queue.admin.rows("select taskq.enqueue('other', '{}')");
    expect(await worker.claim({ types: ['work', 'other'], start: 9 })).toMatchObject([{ type: 'other' }]);
    expect(await liveRow(queue.admin, ids[0]!)).toMatchObject({ status: 'pending' });
  });

  test.each(['snoozed', 'cancelled', 'dead', 'completed'])('not by tasks that end as %s', async (kind) => {
    await enqueueSome(queue.admin, 4);
    for (let n = 0; n < 3; n++)
      await worker.settle(
        outcome(await claimOne(worker), kind, { error: {}, reason: 'r', delay_ms: 3_600_000 }),
      );
    expect(await worker.claim()).toHaveLength(1);
  });

  test('not by losses of workers, give-backs, or failures of tasks that were asked to end', async () => {
    await enqueueSome(queue.admin, 6);
    const tasks = await worker.claim({ start: 6 });
    await worker.giveBack(tasks.slice(0, 2));
    await queue.admin.rows('select taskq.cancel($1)', [tasks[2]!.id, tasks[3]!.id]);
    await fail(tasks[2]!);
    await fail(tasks[3]!);
    await lapse(queue.admin, [tasks[4]!.id, tasks[5]!.id]);
    await rescueAll(queue.admin, worker.id);
    expect(await worker.claim({ start: 9 })).toHaveLength(4);
  });

  test('by the failures of two workers that report at once', async () => {
    await enqueueSome(queue.admin, 3);
    const [first, second] = await worker.claim({ start: 2 });
    const [one, other] = [await queue.session(), await queue.session()];
    await one.rows('begin');
    await other.rows('begin');
    await workerOf(one, worker.id).settle(outcome(first!, 'failed', { delay_ms: 3_600_000 }));
    await workerOf(other, worker.id).settle(outcome(second!, 'failed', { delay_ms: 3_600_000 }));
    await one.rows('commit');
    expect(await isOpen()).toBe(false);
    await other.rows('commit');
    expect(await worker.claim()).toEqual([]);
    expect(await isOpen()).toBe(true);
  });

  test('while nobody waits for a claim that stays open', async () => {
    const ids = await enqueueSome(queue.admin, 4);
    await fail(await claimOne(worker));
    await fail(await claimOne(worker));
    const held = await queue.session();
    await held.rows('begin');
    await workerOf(held, worker.id).claim();
    // It has the breaker locked, so this one does not know yet.
    const third = await claimOne(worker);
    expect(third.id).toBe(ids[2]);
    await fail(third);
    await held.rows('commit');
    expect(await worker.claim()).toEqual([]);
  });

  test('never without the setting', async () => {
    await setBreaker(null);
    expect(await failSome(5)).toEqual([]);
    expect(await queue.admin.rows('select from taskq.breaker_events')).toEqual([]);
    await enqueue(queue.admin);
    expect(await worker.claim()).toHaveLength(1);
  });
});

test('beside an open breaker, a claim of others reads at most half as many pages more', async () => {
  const claimer = workerOf(await queue.directSession(), worker.id);
  await reportPlans(claimer.session);
  const pagesOfClaims = async () => {
    const pages: number[] = [];
    for (let n = 0; n < 9; n++) {
      await queue.admin.rows("select taskq.enqueue('other') from generate_series(1, 3)");
      const claimed = await explained(claimer.session, () =>
        claimer.claim({ types: ['work', 'other'], start: 3 }),
      );
      expect(claimed.result.map(({ type }) => type)).toEqual(['other', 'other', 'other']);
      pages.push(claimed.pages);
    }
    // The first ones make plans.
    return Math.min(...pages);
  };
  const before = await pagesOfClaims();
  await open(5);
  expect(await pagesOfClaims()).toBeLessThanOrEqual(1.5 * before);
});

test('reported failures that an open snapshot holds slow down no claim, nor the count of new ones', async () => {
  const EVENTS = 20_000;
  const claimer = workerOf(await queue.directSession(), worker.id);
  await reportPlans(claimer.session);
  const snapshot = await queue.session();
  await snapshot.rows('begin isolation level repeatable read');
  await snapshot.rows('select from taskq.breaker_events');
  await queue.admin.rows(
    "insert into taskq.breaker_events (type, at, failures) select 'work', now() - interval '1 h', 1 from generate_series(1, $1)",
    EVENTS,
  );
  await queue.admin.rows('delete from taskq.breaker_events');
  const now = Number(await queue.admin.value('select taskq.epoch_us(clock_timestamp())'));
  const cursor = Array.from({ length: 22 }, (_, n) => (n % 2 === 0 ? now : 0));
  const pagesOfClaim = async () => {
    const pages: number[] = [];
    // The first ones make plans.
    for (let n = 0; n < 3; n++)
      pages.push((await explained(claimer.session, () => claimer.claim({ cursor }))).pages);
    return Math.min(...pages);
  };
  // It has 150 pages of such rows.
  expect(await pagesOfClaim()).toBeLessThan(100);
  const ids = await enqueueSome(queue.admin, 3);
  for (let n = 0; n < 2; n++) await fail(await claimOne(worker));
  expect(await pagesOfClaim()).toBeLessThan(100);
  expect(await isOpen()).toBe(true);
  expect(await liveRow(queue.admin, ids[2]!)).toMatchObject({ status: 'pending' });
});

test('a failure that was committed long after its time is counted by the next sweep', async () => {
  const claimer = claimerOf(queue.admin, worker, { costMs: 1000 });
  await claimer.sweep();
  await claimer.claim(1);
  await queue.admin.rows(
    "insert into taskq.breaker_events (type, at, failures) values ('work', clock_timestamp() - interval '1 min', 2)",
  );
  await claimer.claim(1);
  expect(await isOpen()).toBe(false);
  claimer.pass(3_600_000);
  expect(await claimer.sweep()).toBe(1);
  await claimer.claim(1);
  expect(await isOpen()).toBe(true);
});

describe('a probe', () => {
  test('is one task, once the time after the last failure has passed', async () => {
    const ids = await open(3);
    await pass(29_000);
    expect(await worker.claim({ start: 9 })).toEqual([]);
    await pass(2000);
    expect(await worker.claim({ start: 9 })).toMatchObject([{ id: ids[0], running: true }]);
    expect(await worker.claim({ start: 9 })).toEqual([]);
  });

  test('that completes closes the breaker', async () => {
    const ids = await open(3);
    await pass(31_000);
    const probe = await claimOne(worker);
    await worker.settle(outcome(probe, 'completed'));
    expect((await worker.claim({ start: 9 })).map(({ id }) => id)).toEqual(ids.slice(1));
    expect(await isOpen()).toBe(false);
  });

  test('that fails leaves it open, and the next one comes after the same time', async () => {
    const ids = await open(3);
    await pass(31_000);
    await fail(await claimOne(worker));
    expect(await worker.claim({ start: 9 })).toEqual([]);
    await pass(29_000);
    expect(await worker.claim({ start: 9 })).toEqual([]);
    await pass(2000);
    expect(await worker.claim({ start: 9 })).toMatchObject([{ id: ids[1] }]);
  });

  test.each([
    {
      end: 'lost with its worker',
      how: async ({ id }: Claimed) => {
        await lapse(queue.admin, [id]);
        await rescueAll(queue.admin, worker.id);
      },
    },
    { end: 'given back', how: (task: Claimed) => worker.giveBack([task]) },
    { end: 'snoozed', how: (task: Claimed) => worker.settle(outcome(task, 'snoozed', { delay_ms: 0 })) },
  ])('that is $end says nothing: the next one comes at once', async ({ how }) => {
    await open(3);
    await pass(31_000);
    await how(await claimOne(worker));
    await forgetCost();
    expect(await worker.claim({ start: 9 })).toHaveLength(1);
    expect(await worker.claim({ start: 9 })).toEqual([]);
    expect(await isOpen()).toBe(true);
  });

  test.each([
    { end: 'dead', how: (task: Claimed) => worker.settle(outcome(task, 'dead')) },
    { end: 'cancelled', how: (task: Claimed) => worker.settle(outcome(task, 'cancelled')) },
    {
      end: 'deleted by hand',
      how: () => queue.admin.rows('delete from taskq.tasks where lease_owner is not null'),
    },
  ])('that is $end is followed by the next one after the same time', async ({ how }) => {
    const ids = await open(3);
    await pass(31_000);
    await how(await claimOne(worker));
    expect(await worker.claim({ start: 9 })).toEqual([]);
    await pass(29_000);
    expect(await worker.claim({ start: 9 })).toEqual([]);
    await pass(2000);
    expect(await worker.claim({ start: 9 })).toMatchObject([{ id: ids[1] }]);
    expect(await isOpen()).toBe(true);
  });

  test('is not chosen by two workers at once', async () => {
    await open(3);
    await pass(31_000);
    const one = await queue.session();
    await one.rows('begin');
    expect(await workerOf(one, worker.id).claim({ start: 9 })).toHaveLength(1);
    expect(await worker.claim({ start: 9 })).toEqual([]);
    await one.rows('commit');
    expect(await worker.claim({ start: 9 })).toEqual([]);
  });

  test('that another claim has given up is chosen again', async () => {
    const ids = await open(3);
    await pass(31_000);
    const one = await queue.session();
    await one.rows('begin');
    expect(await workerOf(one, worker.id).claim()).toHaveLength(1);
    await one.rows('rollback');
    expect(await worker.claim()).toMatchObject([{ id: ids[0] }]);
  });

  test('counts only while its lease stands', async () => {
    await open(3);
    await pass(31_000);
    const probe = await claimOne(worker);
    await lapse(queue.admin, [probe.id]);
    await rescueAll(queue.admin, worker.id);
    expect(await worker.settle(outcome(probe, 'completed'))).toMatchObject([{ answer: 'lost' }]);
    await forgetCost();
    expect(await worker.claim({ start: 9 })).toHaveLength(1);
    expect(await isOpen()).toBe(true);
  });

  test('is not another task of the type that completes', async () => {
    await enqueueSome(queue.admin, 4);
    const [first, second, third] = await worker.claim({ start: 3 });
    await fail(first!);
    await fail(second!);
    expect(await worker.claim()).toEqual([]);
    await worker.settle(outcome(third!, 'completed'));
    expect(await worker.claim()).toEqual([]);
  });

  test('is found behind the cursors, and moves none', async () => {
    const ids = await open(3);
    await pass(31_000);
    const sees = await claim(queue.admin, {
      worker: { id: worker.id, types: ['work'], leaseMs: LEASE_MS },
      queues: ['default'],
      room: { start: 9, ahead: 0 },
      from: {
        cursor: new Map([
          ['default', Array.from({ length: 10 }, () => ({ availableAtUs: Date.now() * 1000, id: 0 }))],
        ]),
        lookBackMs: null,
      },
    });
    expect(sees).toMatchObject({ isProbe: true, tasks: [{ id: ids[0] }], looked: { levels: 0 } });
  });

  test('is the most urgent task of the queues of the claim, and none of a paused one', async () => {
    await open(0);
    await pass(31_000);
    await enqueue(queue.admin, { queue: 'a' });
    const urgent = await enqueue(queue.admin, { queue: 'b', priority: 0 });
    const calm = await enqueue(queue.admin, { queue: 'b' });
    expect(await worker.claim({ queues: ['default'] })).toEqual([]);
    await forgetCost();
    await queue.admin.rows("select taskq.pause_queue('a')");
    const probe = await claimOne(worker, { queues: ['a', 'b'] });
    expect(probe.id).toBe(urgent);
    await worker.settle(outcome(probe, 'snoozed', { delay_ms: 60_000 }));
    await forgetCost();
    expect((await claimOne(worker, { queues: ['a', 'b'] })).id).toBe(calm);
  });

  test('never comes with none, until the type is resumed', async () => {
    await setBreaker({ failures: 2, within_ms: 60_000, probe_after_ms: 'none' });
    await open(3);
    await pass(3_155_760_000_000);
    expect(await worker.claim({ start: 9 })).toEqual([]);
    expect(await queue.admin.value("select taskq.resume_type('work')")).toBe(true);
    expect(await worker.claim({ start: 9 })).toHaveLength(3);
  });

  test('comes also where everything is claimed ahead, leased and alone', async () => {
    const ids = await open(3);
    await queue.admin.rows("select taskq.enqueue('other', '{}') from generate_series(1, 9)");
    await pass(31_000);
    const [probe, ...others] = await worker.claim({ types: ['work', 'other'], start: 0, ahead: 9 });
    expect(others).toEqual([]);
    expect(probe).toMatchObject({ id: ids[0], running: false });
    expect(await liveRow(queue.admin, ids[0]!)).toMatchObject({ status: 'leased' });
    const next = await worker.claim({ types: ['work', 'other'], start: 1, ahead: 9 });
    expect(next.map(({ type }) => type)).toEqual(Array.from({ length: 9 }, () => 'other'));
    await worker.settle(outcome(probe!, 'completed'));
    expect((await worker.claim({ start: 9 })).map(({ id }) => id)).toEqual(ids.slice(1));
  });

  test('of a type comes although others whose breakers are open have no task', async () => {
    for (const type of ['other', 'work']) {
      await setBreaker({ failures: 1, within_ms: 60_000 }, type);
      await queue.admin.rows('select taskq.enqueue($1, $2)', type, {});
      await fail(await claimOne(worker, { types: [type] }));
      expect(await worker.claim({ types: [type] })).toEqual([]);
    }
    const id = await enqueue(queue.admin);
    await pass(31_000);
    expect(await worker.claim({ types: ['other', 'work'] })).toMatchObject([{ id }]);
  });

  describe('that the database refuses to lease', () => {
    const refuse = async (...ids: readonly string[]) => {
      await queue.admin.rows(
        'create function public.refuse() returns trigger language plpgsql as $$ begin raise exception $m$no$m$; end $$',
      );
      await queue.admin.rows(
        `create trigger refuse before update on taskq.tasks for each row when (new.id in (${ids.join()})) execute function public.refuse()`,
      );
    };
    const request = () => ({
      worker: { id: worker.id, types: ['work', 'other'], leaseMs: LEASE_MS },
      queues: ['default'],
      room: { start: 9, ahead: 0 },
      from: { cursor: null, lookBackMs: null },
    });
    afterEach(() => queue.admin.rows('drop function if exists public.refuse cascade'));

    test('is passed and reported, and the next task is the probe', async () => {
      const [outgrown, refused, id] = await open(3);
      await queue.admin.rows(
        "update taskq.tasks set payload = to_jsonb(repeat('x', 1100000)), payload_bytes = 5 where id = $1",
        outgrown,
      );
      await refuse(refused!);
      await pass(31_000);
      expect(await claim(queue.admin, request())).toMatchObject({
        isProbe: true,
        tasks: [{ id }],
        refused: [
          { id: outgrown, queue: 'default', type: 'work', code: '23514' },
          { id: refused, queue: 'default', type: 'work', error: 'no', code: 'P0001' },
        ],
      });
      expect(await worker.claim()).toEqual([]);
    });

    test('fails no claim where there is no other, and is tried again after a second', async () => {
      const [id] = await open(1);
      await pass(31_000);
      await refuse(id!);
      await queue.admin.rows("select taskq.enqueue('other', '{}')");
      expect(await claim(queue.admin, request())).toMatchObject({
        isProbe: false,
        tasks: [{ type: 'other' }],
        refused: [{ id }],
      });
      await queue.admin.rows('drop function public.refuse cascade');
      expect(await worker.claim()).toEqual([]);
      await queue.admin.rows("update taskq.breakers set probe_from = probe_from - interval '1 min'");
      expect(await worker.claim()).toMatchObject([{ id }]);
    });
  });

  test('is a task that a claim would take, whatever its status was set to by hand', async () => {
    const [id] = await open(1);
    await queue.admin.rows("update taskq.tasks set status = 'blocked' where id = $1", id);
    await pass(31_000);
    expect(await worker.claim()).toMatchObject([{ id }]);
    expect(await worker.claim()).toEqual([]);
  });

  test('comes at once when the clock has gone back', async () => {
    await open(1);
    await pass(-3_600_000);
    expect(await worker.claim()).toHaveLength(1);
  });
});

describe('closing', () => {
  test('finds what waits behind the cursors of all workers', async () => {
    const idle = claimerOf(await queue.session(), worker, { costMs: 50 });
    const ids = await open(3);
    await idle.claim(9);
    idle.pass(60_000);
    await idle.sweep();
    expect(await idle.claim(9)).toEqual([]);
    expect(await idle.sweep()).toBeUndefined();
    await queue.admin.rows("select taskq.resume_type('work')");
    // As the hint of the resume tells it.
    idle.cursor.rewind('default', 0);
    await idle.sweep();
    expect((await idle.claim(9)).map(({ id }) => id)).toEqual(ids);
  });

  test('by resume: failures count anew, and those before do not', async () => {
    await open(3);
    expect(await queue.admin.value("select taskq.resume_type('work')")).toBe(true);
    expect(await queue.admin.value("select taskq.resume_type('work')")).toBe(false);
    await fail(await claimOne(worker));
    expect(await worker.claim()).toHaveLength(1);
    expect(
      await queue.admin.rows("select from taskq.audit where verb = 'resume' and type = 'work'"),
    ).toHaveLength(1);
  });

  test('by resume, whose transaction holds up no try of the type while it stays open', async () => {
    await open(3);
    const operator = await queue.session();
    await operator.rows('begin');
    expect(await operator.value("select taskq.resume_type('work')")).toBe(true);
    await pass(31_000);
    const probe = await claimOne(worker);
    expect(await worker.claim({ start: 9 })).toEqual([]);
    await worker.settle(outcome(probe, 'completed'));
    expect(await worker.claim({ start: 9 })).toHaveLength(2);
    await operator.rows('commit');
    expect(await isOpen()).toBe(false);
    await worker.claim();
    expect(await queue.admin.rows('select from taskq.breaker_events')).toEqual([]);
  });

  test('by resume, whether or not a claim has seen it, and failures after it count', async () => {
    await open(3);
    await queue.admin.rows("select taskq.resume_type('work')");
    expect(await isOpen()).toBe(false);
    await queue.admin.rows(
      `insert into taskq.breaker_events (type, at, failures) values ('work', clock_timestamp(), 1)`,
    );
    await fail(await claimOne(worker));
    expect(await worker.claim({ start: 9 })).toEqual([]);
    expect(await isOpen()).toBe(true);
  });

  test('by removing the setting, and by removing the type', async () => {
    await open(3);
    await setBreaker(null);
    expect(await worker.claim()).toHaveLength(1);
    await setBreaker({ failures: 1, within_ms: 1 });
    await fail((await queue.admin.row<Claimed>('select * from taskq.tasks where lease_owner is not null'))!);
    expect(await worker.claim()).toEqual([]);
    await queue.admin.rows("update taskq.workers set types = '{other}'");
    expect(await queue.admin.value("select taskq.remove_type('work')")).toBe('removed');
    expect(await worker.claim()).toHaveLength(1);
    expect(await queue.admin.rows('select from taskq.breakers')).toEqual([]);
  });

  test('tells every worker', async () => {
    const orders = () =>
      queue.admin.value<{ open_breakers: object[] }>('select taskq.get_orders($1)', worker.id);
    const listener = await queue.directSession();
    await listener.rows('listen taskq_orders; listen taskq_wake');
    const heard: string[] = [];
    listener.client.on('notification', ({ channel }) => heard.push(channel));
    await open(1);
    expect((await orders()).open_breakers).toEqual([
      { type: 'work', failures: 2, within_ms: 60_000, probe_after_ms: 30_000 },
    ]);
    await listener.rows('select');
    expect(heard).toContain('taskq_orders');
    heard.length = 0;
    await queue.admin.rows("select taskq.resume_type('work')");
    await listener.rows('select');
    expect(heard).toEqual(expect.arrayContaining(['taskq_orders', 'taskq_wake']));
    expect((await orders()).open_breakers).toEqual([]);
  });
});

describe('an open breaker is told', () => {
  test('by explain, with the probe and when the next may come', async () => {
    const [first, second] = (await open(2)) as [string, string];
    const cause = async (id: string) => (await explainTask(queue.admin, id))!;
    expect(await cause(first)).toMatchObject({
      may_start_at: expect.any(String),
      causes: [{ cause: 'breaker_open', since: expect.any(String), failures: 2, probe: null }],
    });
    const { causes, may_start_at: at } = await cause(first);
    expect(causes).toMatchObject([{ until: at }]);
    await pass(31_000);
    await claimOne(worker);
    expect(await cause(second)).toMatchObject({
      may_start_at: null,
      causes: [{ cause: 'breaker_open', probe: first, until: null }],
    });
    await queue.admin.rows("select taskq.resume_type('work')");
    expect(await cause(second)).toMatchObject({ causes: [] });
  });

  test('by stats: stalled, and in depth one task that may try', async () => {
    await open(3);
    expect(await stats(queue.admin, 60_000)).toMatchObject({
      due: 3,
      depth: 1,
      stalled: [{ queue: 'default', type: 'work', due: 3, reason: 'breaker_open', worker: null }],
    });
    await setBreaker({ failures: 2, within_ms: 60_000, probe_after_ms: 'none' });
    expect(await stats(queue.admin, 60_000)).toMatchObject({ due: 3, depth: 0 });
  });

  test('to --until-idle, which does not wait for it', async () => {
    await open(3);
    expect(await countUnfinished(queue.admin, ['work'], null)).toMatchObject({
      unfinished: 0,
      leftForLater: { behind_open_breakers: 5 },
    });
    await pass(31_000);
    await claimOne(worker);
    expect(await countUnfinished(queue.admin, ['work'], null)).toMatchObject({ unfinished: 1 });
  });

  test('to an idle worker, which wakes for the next probe', async () => {
    await open(1);
    await queue.admin.rows('update taskq.tasks set available_at = clock_timestamp() where attempts > 0');
    const dueMs = () =>
      queue.admin.value<number | null>(
        "select due_ms from taskq.mark_idle($1, '{default}', 1000, '{work}')",
        worker.id,
      );
    expect(await dueMs()).toBeGreaterThan(25_000);
    await pass(10_000);
    expect(await dueMs()).toBeLessThan(20_000);
    await queue.admin.rows("select taskq.resume_type('work')");
    expect(await dueMs()).toBeNull();
  });
});

describe('bad input', () => {
  test.each([
    5,
    '5/1m',
    [],
    {},
    { failures: 5 },
    { within_ms: 1000 },
    { failures: 0, within_ms: 1000 },
    { failures: 1001, within_ms: 1000 },
    { failures: 1.5, within_ms: 1000 },
    { failures: '5', within_ms: 1000 },
    { failures: 5, within_ms: 0 },
    { failures: 5, within_ms: 3_155_760_000_001 },
    { failures: 5, within_ms: 1000, probe_after_ms: 0 },
    { failures: 5, within_ms: 1000, probe_after_ms: 'never' },
    { failures: 5, within_ms: 1000, probe_after_ms: null },
    { failures: 5, within_ms: 1000, other: 1 },
  ])('%j is refused, with what is expected', async (breaker) => {
    await expect(
      queue.admin.rows('select taskq.set_type($1, $2)', 'work', { breaker }),
    ).rejects.toMatchObject({
      code: '22023',
      message: expect.stringMatching(/^set_type: breaker .*: expected an object/),
    });
  });

  test('a row put in by hand fails no claim', async () => {
    await queue.admin.rows(
      `insert into taskq.breaker_events (type, at, failures, probe_id)
       values ('nowhere', 'infinity', 2147483647, 1), ('work', '-infinity', 2147483647, null), ('other', now(), -1, null)`,
    );
    await queue.admin.rows(
      `insert into taskq.breakers (type, failed_at, opened_at) values ('stray', '{}', '-infinity'), ('other', '{infinity}', 'infinity')`,
    );
    await queue.admin.rows(
      `update taskq.task_types set breaker = '{"failures": 1e0, "within_ms": 60000.0}' where name = 'other'`,
    );
    await enqueue(queue.admin);
    await worker.claim({ types: ['work', 'other', 'stray'] });
    await worker.claim({ types: ['work', 'other', 'stray'] });
    expect(await queue.admin.rows('select from taskq.breaker_events where not is_open')).toEqual([]);
  });
});
