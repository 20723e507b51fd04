import { beforeEach, describe, expect, test } from 'vitest';
import { listenTo } from './listening.ts';
import { enqueueSome } from './rows.ts';
import { useDatabase } from './session.ts';
import { patiently, waitUntilBlocked } from './waiting.ts';
import { type Claimed, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

/** From here on a claim waits for its turn. */
const MANY = 50;

describe.each([
  ['without groups', () => ({})],
  ['with groups, which a claim attends to first', (n: number) => ({ group: `g${n}` })],
])('claims of many tasks, %s', (_, optionsOf) => {
  const enqueueAll = (count: number) =>
    queue.admin.rows(
      'select taskq.enqueue_many($1)',
      JSON.stringify(Array.from({ length: count }, (_, n) => ({ type: 'work', ...optionsOf(n) }))),
    );
  const workers = async () => [
    await registerWorker(await queue.session()),
    await registerWorker(await queue.session()),
  ];

  test('take turns, and those of fewer do not wait for them', async () => {
    await enqueueAll(3 * MANY);
    const [one, other] = (await workers()) as [PlainWorker, PlainWorker];
    const small = await registerWorker(queue.admin);
    await patiently(queue.admin, ['claim', 'await_turn'], async () => {
      await one.session.rows('begin');
      const first = await one.claim({ start: MANY });
      const waiting = other.claim({ start: MANY });
      await waitUntilBlocked(queue.admin);
      const few = await small.claim({ start: MANY - 1 });
      expect(few).not.toHaveLength(0);
      await one.session.rows('commit');
      const late = await waiting;
      expect(late).not.toHaveLength(0);
      const taken = [...first, ...late, ...few].map(({ id }) => id);
      expect(new Set(taken).size).toBe(taken.length);
    });
  });

  test('go on beside a session that keeps the turn', async () => {
    await enqueueAll(2 * MANY);
    const [one, other] = (await workers()) as [PlainWorker, PlainWorker];
    await one.session.rows('begin');
    expect(await one.claim({ start: MANY })).toHaveLength(MANY);
    expect(await other.claim({ start: MANY })).not.toHaveLength(0);
  });
});

describe('a claim that has waited for its turn', () => {
  /** What `claim` answers, a claim of many tasks, beside which `meanwhile` happens before its turn comes. */
  async function whileItWaits<T>(
    claim: (worker: PlainWorker) => Promise<T>,
    meanwhile: () => Promise<unknown>,
  ): Promise<T> {
    const holder = await queue.session();
    const waiting = await registerWorker(await queue.session());
    return patiently(queue.admin, ['claim', 'await_turn'], async () => {
      await holder.rows('begin');
      await holder.rows('lock table taskq.claim_turn in share update exclusive mode');
      const answer = claim(waiting);
      await waitUntilBlocked(queue.admin);
      await meanwhile();
      await holder.rows('commit');
      return answer;
    });
  }
  const takenAfter = (meanwhile: () => Promise<unknown>): Promise<Claimed[]> =>
    whileItWaits((worker) => worker.claim({ start: MANY }), meanwhile);
  const enqueueGrouped = (count: number) => enqueueSome(queue.admin, count, { group: 'g' });
  const set = (settings: object) =>
    queue.admin.rows("select taskq.set_queue('default', $1)", JSON.stringify(settings));
  beforeEach(() => enqueueSome(queue.admin, 1, { queue: 'other', group: 'has asked' }));

  test('takes nothing from a queue that was paused', async () => {
    await enqueueSome(queue.admin, 5);
    expect(await takenAfter(() => queue.admin.rows("select taskq.pause_queue('default')"))).toEqual([]);
  });

  test('takes nothing if its worker was paused', async () => {
    await enqueueSome(queue.admin, 5);
    const pause = () => queue.admin.rows('select taskq.pause_worker(w.id) from taskq.workers w');
    expect(await takenAfter(pause)).toEqual([]);
  });

  test('takes nothing of a group that was paused, and returns its slots', async () => {
    await set({ group_limit: 3 });
    await enqueueGrouped(5);
    const pause = () => queue.admin.rows("select taskq.pause_group('default', 'g')");
    expect(await takenAfter(pause)).toEqual([]);
    await queue.admin.rows("select taskq.resume_group('default', 'g')");
    const next = await registerWorker(queue.admin);
    expect(await next.claim({ start: MANY })).toHaveLength(3);
  });

  test('keeps to a limit of its group that was lowered', async () => {
    await set({ group_limit: 5 });
    await enqueueGrouped(5);
    expect(await takenAfter(() => set({ group_limit: 2 }))).toHaveLength(2);
  });

  test('keeps to a limit that its group has got', async () => {
    await enqueueGrouped(5);
    const limit = () => queue.admin.rows(`select taskq.set_group('default', 'g', '{"limit": 1}')`);
    expect(await takenAfter(limit)).toHaveLength(1);
  });

  test('takes nothing of a group that holds at a task that has died', async () => {
    await set({ group_limit: 2, group_on_dead: 'hold' });
    const worker = await registerWorker(queue.admin);
    await enqueueSome(queue.admin, 1, { group: 'g', max_attempts: 1 });
    const [first] = await worker.claim();
    await enqueueGrouped(5);
    expect(await takenAfter(() => worker.settle(outcome(first!, 'failed')))).toEqual([]);
  });

  test('takes nothing of a type whose breaker has opened', async () => {
    const breaker = { failures: 1, within_ms: 60_000, probe_after_ms: 60_000 };
    await queue.admin.rows("select taskq.set_type('work', $1)", JSON.stringify({ breaker }));
    await enqueueSome(queue.admin, 1);
    const worker = await registerWorker(queue.admin);
    const [failing] = await worker.claim();
    await enqueueSome(queue.admin, 5);
    const fail = () => worker.settle(outcome(failing!, 'failed'));
    expect(await takenAfter(fail)).toEqual([]);
  });

  test('says that it has read the asks of groups up to when it began to wait', async () => {
    const [delayed] = await enqueueSome(queue.admin, 1, { group: 'g', delay_ms: 3_600_000 });
    const lookedTo = (worker: PlainWorker) =>
      worker.session.value<string>(
        `select coalesce(extra ->> 'asked_to_us', extra ->> 'looked_to_us')
         from taskq.claim($1, '{default}', '{work}', $2, 0, 30000, null, null, '{"looked": true}') where id is null`,
        worker.id,
        MANY,
      );
    let dueUs = Number.NaN;
    const looked = await whileItWaits(lookedTo, async () => {
      dueUs = await queue.admin.value<number>(
        `update taskq.asks set due_at = clock_timestamp() where task_id = $1
         returning extract(epoch from due_at)::float8 * 1000000`,
        delayed,
      );
    });
    expect(Number(looked)).toBeLessThan(dueUs);
  });

  test('brings a step of a group that it has released itself', async () => {
    const steps = [
      { step: 'one', type: 'work' },
      { step: 'two', type: 'work', after: ['one'], group: 'g' },
    ];
    await queue.admin.rows('select taskq.run_workflow($1)', JSON.stringify({ name: 'two steps', steps }));
    const worker = await registerWorker(queue.admin);
    const [one] = await worker.claim({ start: MANY });
    await worker.settle(outcome(one!, 'completed'));
    expect(await worker.claim({ start: MANY })).toMatchObject([{ group_key: 'g' }]);
  });

  // The last one: where any queue has had a limit, claims take their turn before they attend to groups.
  test('keeps to a limit that its queue has got', async () => {
    await enqueueSome(queue.admin, 5);
    expect(await takenAfter(() => set({ max_running: 2 }))).toHaveLength(2);
  });
});

test('a task that gets its slot when its claim chooses for the second time is not left to a sweep', async () => {
  const worker = await registerWorker(queue.admin);
  const claim = (type: string) =>
    queue.admin.rows("select id from taskq.claim($1, '{a,b}', array[$2], 1, 0, 60000)", worker.id, type);
  for (const name of ['a', 'b'])
    await queue.admin.rows('select taskq.set_queue($1, \'{"group_limit": 1}\')', name);
  await enqueueSome(queue.admin, 1, { queue: 'a', group: 'g', priority: 1 });
  await enqueueSome(queue.admin, 1, { queue: 'b', group: 'g', priority: 5 });
  // Both have their slots.
  for (let n = 0; n < 2; n++) await claim('nothing');
  // These come first, and the claim reads of their asks too late.
  const [foreign] = await enqueueSome(queue.admin, 1, { queue: 'a', group: 'g', priority: 0 });
  await queue.admin.rows("update taskq.tasks set type = 'other' where id = $1", foreign);
  const [first] = await enqueueSome(queue.admin, 1, { queue: 'b', group: 'g', priority: 0 });
  await queue.admin.rows("update taskq.asks set due_at = due_at + interval '1 hour'");
  const hints = await listenTo(queue, 'taskq_wake');
  expect(await claim('work')).toEqual([]);
  await hints.untilReceived();
  expect(JSON.parse(hints.received[0]!)).toMatchObject({ queue: 'b' });
  expect(await claim('work')).toEqual([{ id: first }]);
});
