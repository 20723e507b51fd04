import { describe, expect, test } from 'vitest';
import { findMissed } from '../../src/queue/protocol/find-missed.ts';
import { type Claimer, claimerOf } from './claimer.ts';
import { randomOf } from './random.ts';
import { enqueue, enqueueSome } from './rows.ts';
import { type Session, useDatabase } from './session.ts';
import { outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

const AGE =
  "update taskq.tasks set available_at = clock_timestamp() - $2 * interval '1 s' where id = any ($1)";

/** Claims until nothing is left here, and settles nothing. */
async function claimAll(claimer: Claimer, start: number): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const tasks = await claimer.claim(start);
    ids.push(...tasks.map((task) => task.id));
    if (tasks.length < start) return ids;
  }
}

describe('the first due task before the cursor', () => {
  const find = (cursor = new Map(), queues = ['default'], types = ['work']) =>
    findMissed(queue.admin, { queues, types, cursor });
  const everywhere = (availableAtUs: number) =>
    new Map([['default', new Array(10).fill({ availableAtUs, id: 0 })]]);

  test('is found in each level of each queue', async () => {
    const ids: string[] = [];
    for (const [name, priority] of [
      ['default', 2],
      ['default', 7],
      ['other', 2],
    ] as const) {
      const [first, second] = await enqueueSome(queue.admin, 2, { queue: name, priority });
      await queue.admin.rows(AGE, [first], 60);
      await queue.admin.rows(AGE, [second], 50);
      ids.push(first!);
    }
    const { first, lookedToUs } = await find(new Map(), ['default', 'other', 'empty']);
    expect(first.map((one) => [one.queue, one.priority, String(one.position.id)]).sort()).toEqual([
      ['default', 2, ids[0]],
      ['default', 7, ids[1]],
      ['other', 2, ids[2]],
    ]);
    const us = await queue.admin.value<string>(
      'select (extract(epoch from available_at) * 1000000)::bigint from taskq.tasks where id = $1',
      ids[0],
    );
    expect(first.find(({ position }) => String(position.id) === ids[0])?.position.availableAtUs).toBe(
      Number(us),
    );
    expect(lookedToUs).toBeGreaterThan(Number(us));
  });

  test('is none that is held, delayed, expired, blocked or of another type', async () => {
    const worker = await registerWorker(queue.admin);
    await enqueue(queue.admin);
    await worker.claim();
    await enqueue(queue.admin, { delay_ms: 60_000 });
    const [expired, started, blocked] = await enqueueSome(queue.admin, 3, { expires_ms: 60_000 });
    await queue.admin.rows(
      "update taskq.tasks set expires_at = clock_timestamp() - interval '1 ms' where id = any ($1)",
      [expired, started],
    );
    await queue.admin.rows(
      "update taskq.tasks set status = 'blocked', available_at = 'infinity' where id = $1",
      blocked,
    );
    expect((await find(new Map(), ['default'], ['other'])).first).toEqual([]);
    await queue.admin.rows('update taskq.tasks set started_at = created_at where id = $1', started);
    expect((await find()).first.map(({ position }) => String(position.id))).toEqual([started]);
  });

  test('is not one after the cursor, which the next claim finds', async () => {
    const [old, young] = await enqueueSome(queue.admin, 2);
    await queue.admin.rows(AGE, [old], 60);
    const { first } = await find();
    expect(first).toMatchObject([{ position: { id: Number(old) } }]);
    const { position } = first[0]!;
    expect((await find(everywhere(position.availableAtUs - 1))).first).toEqual([]);
    expect((await find(everywhere(position.availableAtUs + 1))).first).toMatchObject([{ position }]);
    expect((await find(new Map([['default', new Array(10).fill(position)]]))).first).toMatchObject([
      { position },
    ]);
    expect(young).toBeDefined();
  });
});

describe('what a claim has passed', () => {
  test('is not walked again, and says where: what is of other types, or expired', async () => {
    const worker = await registerWorker(queue.admin);
    const claimer = claimerOf(queue.admin, worker, { types: ['rare'] });
    await enqueueSome(queue.admin, 5, { priority: 1 });
    await claimer.sweep();
    expect(await claimer.claim(1)).toEqual([]);
    const passed = await queue.admin.value<string>(
      'select (extract(epoch from max(available_at)) * 1000000)::bigint from taskq.tasks',
    );
    for (const position of claimer.cursor.next(0, ['default']).cursor!.get('default')!)
      expect(position!.availableAtUs).toBeGreaterThan(Number(passed));
  });

  test('is nothing in a queue that is paused', async () => {
    const worker = await registerWorker(queue.admin);
    const claimer = claimerOf(queue.admin, worker, { queues: ['default', 'closed'] });
    await claimer.sweep();
    const positionIn = (name: string) =>
      claimer.cursor.next(0, ['default']).cursor!.get(name)![2]!.availableAtUs;
    const before = { default: positionIn('default'), closed: positionIn('closed') };
    await queue.admin.rows("select taskq.pause_queue('closed')");
    await claimer.claim(1);
    expect(positionIn('closed')).toBe(before.closed);
    expect(positionIn('default')).toBeGreaterThan(before.default);
    await queue.admin.rows('update taskq.workers set paused_at = clock_timestamp()');
    const after = positionIn('default');
    await claimer.claim(1);
    expect(positionIn('default')).toBe(after);
  });

  test.each([1, 1000])(
    'is found again when it is unlocked, with no hint and too old to look back to',
    async (costMs) => {
      const id = await enqueue(queue.admin);
      await queue.admin.rows(AGE, [id], 3600);
      const other = await queue.session();
      await other.rows('begin');
      await other.rows("update taskq.tasks set tags = '{}' where id = $1", id);
      const claimer = claimerOf(queue.admin, await registerWorker(queue.admin), { costMs });
      await claimer.sweep();
      expect(await claimer.claim(1)).toEqual([]);
      await other.rows('commit');
      expect(await claimer.claim(1)).toEqual([]);
      claimer.pass(1_000_000);
      await claimer.sweep();
      expect(await claimer.claim(1)).toMatchObject([{ id }]);
    },
  );

  test('in a less urgent level is known while an urgent backlog lasts, and claimed as soon as that has gone', async () => {
    const worker = await registerWorker(queue.admin);
    const claimer = claimerOf(queue.admin, worker, { costMs: 10 });
    const settleAll = async (tasks: readonly { id: string; leaseNo: number }[]) => {
      await worker.settle(...tasks.map(({ id, leaseNo }) => outcome({ id, lease_no: leaseNo }, 'completed')));
    };
    const producer: Session = await queue.session();
    await producer.rows('begin');
    const late = await enqueue(producer, { priority: 5 });
    await producer.rows(AGE, [late], 3600);
    await enqueue(queue.admin, { priority: 5 });
    await claimer.sweep();
    await settleAll(await claimer.claim(2));
    await producer.rows('commit');
    // More at each claim than it takes, so that none comes to the end of its level.
    for (let turn = 0; turn < 6; turn++) {
      await enqueueSome(queue.admin, 3, { priority: 0 });
      claimer.pass(1000);
      await claimer.sweep();
      const tasks = await claimer.claim(2);
      expect(tasks.map((task) => task.priority)).toEqual([0, 0]);
      await settleAll(tasks);
    }
    // No time passes, and no sweep is made: the claim that comes to its level finds it.
    expect(await claimAll(claimer, 4)).toContain(late);
  });

  test.each([1, 2, 3, 4, 5, 6])(
    'is found by a sweep, whatever was committed late, locked, given back or claimed by others (%i)',
    async (seed) => {
      const random = randomOf(seed);
      const sessions = await Promise.all([1, 2, 3].map(() => queue.session()));
      const open = new Set<Session>();
      const worker = await registerWorker(queue.admin);
      const other = await registerWorker(queue.admin, { work: {}, rare: {} });
      const queues = ['default', 'b'];
      const claimer = claimerOf(queue.admin, worker, { queues, costMs: random.pick([1, 1000]) });
      const options = () => ({
        queue: random.pick(queues),
        priority: random.below(3),
        ...(random.below(4) === 0 && { expires_ms: 3_600_000 }),
      });
      const inTransaction = async (session: Session) => {
        if (!open.has(session)) await session.rows('begin');
        open.add(session);
        return session;
      };
      const acts: readonly (() => Promise<unknown>)[] = [
        () => enqueueSome(queue.admin, 1 + random.below(3), options()),
        async () => {
          const session = await inTransaction(random.pick(sessions));
          const id = await enqueue(session, options());
          // As if it had been open for long.
          if (random.below(2) === 0) await session.rows(AGE, [id], random.below(20));
        },
        async () => {
          const session = random.pick(sessions);
          if (open.delete(session)) await session.rows(random.below(4) === 0 ? 'rollback' : 'commit');
        },
        async () =>
          (await inTransaction(random.pick(sessions))).rows(
            `update taskq.tasks set tags = '{}'
             where id = (select id from taskq.tasks where lease_owner is null order by random() limit 1 for update skip locked)`,
          ),
        // Its hint is lost.
        async () => other.giveBack(await other.claim({ start: 3, queues, types: ['work'] }), false),
        () => claimer.claim(1 + random.below(3)),
        () => claimer.claim(1 + random.below(3)),
        () => claimer.sweep(),
        async () => claimer.pass(10 ** random.below(6)),
        async () => queue.admin.rows(AGE, await enqueueSome(queue.admin, 2, options()), random.below(5)),
      ];
      for (let step = 0; step < 150; step++) await random.pick(acts)();
      for (const session of open) await session.rows('commit');
      claimer.pass(1_000_000);
      await claimer.sweep();
      await claimAll(claimer, 5);
      const left = 'select id, queue, priority, available_at from taskq.tasks where lease_owner is null';
      expect(await queue.admin.rows(left)).toEqual([]);
    },
  );
});
