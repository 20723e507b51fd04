import { describe, expect, expectTypeOf, test } from 'vitest';
import type { GroupDetails, GroupFilter, GroupRecord, TaskQueue } from '../../src/index.ts';
import { enqueueSome } from '../queue/rows.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { useLibrary } from './use-queue.ts';

const library = useLibrary();

async function listed(queue: TaskQueue, name: string, filter?: GroupFilter): Promise<GroupRecord[]> {
  const groups: GroupRecord[] = [];
  for await (const group of queue.listGroups(name, filter)) groups.push(group);
  return groups;
}

const actions = () =>
  library.admin.rows('select verb, queue, by, settings, reason from taskq.audit order by id');

describe('groups', () => {
  test('are listed, all of them, in order, with their own limit and their pause', async () => {
    const queue = library.open();
    const names = Array.from({ length: 205 }, (_, n) => `g${String(n).padStart(3, '0')}`);
    await queue.enqueueMany(names.map((group) => ({ type: 'work', queue: 'mail', group }) as const));
    await queue.setGroup('mail', 'g007', { limit: 3 }, { by: 'ann' });
    await queue.pauseGroup('mail', 'g008', { reason: 'deploy', by: 'ann' });
    const groups = await listed(queue, 'mail');
    expect(groups.map(({ name }) => name)).toEqual(names);
    expect(groups[7]).toEqual({
      queue: 'mail',
      name: 'g007',
      ...{
        limit: 3,
        slots: 3,
        rate: null,
        burst: null,
        holding: 0,
        waiting: 1,
        delayed: 0,
        pause: null,
        stops: [],
      },
    });
    expect(groups[8]).toMatchObject({
      limit: null,
      slots: 0,
      pause: { since: expect.any(Date), by: expect.stringContaining('ann'), reason: 'deploy' },
      stops: [{ cause: 'group_paused', group: 'g008' }],
    });
    expect(await listed(queue, 'mail', { stopped: true })).toEqual([groups[8]]);
    await expect(listed(queue, 'mail', { paused: true } as GroupFilter)).rejects.toMatchObject({
      code: 'bad_option',
    });
    expect(await queue.resumeGroup('mail', 'g008')).toBe(true);
    expect(await queue.resumeGroup('mail', 'g008')).toBe(false);
    await queue.setGroup('mail', 'g007', { limit: null });
    expect((await listed(queue, 'mail')).slice(7, 9)).toMatchObject([
      { limit: null, slots: null },
      { slots: null, pause: null },
    ]);
    expect(await listed(queue, 'other')).toEqual([]);
    expect(await actions()).toMatchObject([
      { verb: 'set group', queue: 'mail', by: 'ann', settings: { group: 'g007', limit: 3 } },
      { verb: 'pause group', by: 'ann', settings: { group: 'g008' }, reason: 'deploy' },
      { verb: 'resume group', by: null },
      { verb: 'set group', settings: { group: 'g007', limit: null } },
    ]);
  });

  test('may have a rate, of their own or of their queue', async () => {
    const queue = library.open();
    await queue.setQueue('mail', { groupRate: '10/1s', groupBurst: 20 });
    await queue.setGroup('mail', 'ann', { rate: '1/1h' });
    await queue.enqueue('work', {}, { queue: 'mail', group: 'bob' });
    expect(await listed(queue, 'mail')).toMatchObject([
      { name: 'ann', rate: '1/1h', burst: 1 },
      { name: 'bob', rate: '10/1s', burst: 20 },
    ]);
    expect(await queue.showGroup('mail', 'ann')).toMatchObject({
      applies: { rate: { value: '1/1h', from: 'group' } },
      nextSlotAt: null,
    });
    await queue.enqueue('work', {}, { queue: 'mail', group: 'ann' });
    await (await registerWorker(library.admin)).claim({ queues: ['mail'] });
    const { nextSlotAt } = await queue.showGroup('mail', 'ann');
    expect(nextSlotAt!.getTime() - Date.now()).toBeGreaterThan(3_000_000);
    await queue.setGroup('mail', 'ann', { rate: null });
    expect(await queue.showGroup('mail', 'ann')).toMatchObject({
      applies: { rate: { value: '10/1s', from: 'queue' } },
    });
    await expect(queue.setGroup('mail', 'ann', { burst: 2 })).rejects.toMatchObject({
      code: 'bad_option',
      message: 'burst 2 needs a rate',
    });
    await expect(queue.setQueue('news', { groupBurst: 2 })).rejects.toMatchObject({
      code: 'bad_option',
      message: 'groupBurst 2 needs a rate',
    });
  });

  test('are shown with their settings, what stops them, who has their slots and who is next', async () => {
    const queue = library.open();
    await queue.setQueue('default', { groupLimit: 2, groupOnDead: 'hold' });
    await enqueueSome(library.admin, 4, { group: 'ann' });
    const worker = await registerWorker(library.admin);
    const dead = await claimOne(worker);
    await worker.settle(outcome(dead, 'failed', { delay_ms: 60_000 }));
    const running = await claimOne(worker);
    await queue.pauseGroup('default', 'ann');
    const group = await queue.showGroup('default', 'ann');
    expectTypeOf(group).toEqualTypeOf<GroupDetails>();
    expect(group).toMatchObject({
      ...{ queue: 'default', name: 'ann', limit: null, slots: 0, holding: 2, waiting: 2, delayed: 0 },
      pause: { since: expect.any(Date), reason: null },
      applies: {
        limit: { value: 2, from: 'queue' },
        order: { value: 'strict', from: 'defaults' },
        onDead: { value: 'hold', from: 'queue' },
      },
      stops: [{ cause: 'group_paused', since: expect.any(Date), until: null }],
      holders: [
        { id: dead.id, type: 'work', status: 'pending', since: null, due: expect.any(Date) },
        { id: running.id, type: 'work', status: 'running', since: expect.any(Date), due: null },
      ],
      next: [{ createdAt: expect.any(Date) }, { createdAt: expect.any(Date) }],
    });
  });

  test('select tasks, and a delayed one is retried', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work', {}, { group: 'ann', delay: '1h' });
    await queue.enqueue('work', {}, { group: 'bob', delay: '1h' });
    const list = queue.list({ group: 'ann' });
    expect((await list.page()).tasks).toMatchObject([{ id, group: 'ann', availableAt: expect.any(Date) }]);
    expect((await list.retry()).counts).toEqual({ retried: 1 });
    expect((await list.page()).tasks).toMatchObject([{ id, status: 'blocked', availableAt: null }]);
    expect((await list.cancel()).counts).toEqual({ cancelled: 1 });
  });

  test.each([
    [(queue: TaskQueue) => queue.setGroup('mail', '', { limit: 1 }), 'bad_name', 'group "": expected'],
    [(queue: TaskQueue) => queue.pauseGroup('mail', 'x'.repeat(201)), 'bad_name', 'at most 200 bytes'],
    [(queue: TaskQueue) => queue.resumeGroup('', 'ann'), 'bad_name', 'queue "": expected'],
    [(queue: TaskQueue) => queue.showGroup('mail', ' ann'), 'bad_name', 'group " ann": blanks'],
    [
      (queue: TaskQueue) => queue.setGroup('mail', 'ann', { limit: 0 }),
      'bad_option',
      'limit 0: expected a whole number from 1',
    ],
    [
      (queue: TaskQueue) => queue.enqueue('work', {}, { group: 'x'.repeat(201) }),
      'bad_name',
      'at most 200 bytes',
    ],
  ])('%s is refused, and nothing is stored', async (act, code, message) => {
    const refusal = await Promise.resolve(act(library.open())).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code, exitCode: 2, message: expect.stringContaining(message) });
    expect(await library.admin.rows('select from taskq.groups union all select from taskq.tasks')).toEqual(
      [],
    );
  });
});

describe('settings', () => {
  test('of a queue are set, the others stay, and null removes one', async () => {
    const queue = library.open();
    await queue.setQueue('mail', { timeout: '5s', maxAttempts: 'unlimited', groupLimit: 1 }, { by: 'ann' });
    await queue.setQueue('mail', {
      ...{ timeout: null, groupOrder: 'relaxed', groupBy: 'type', deadRetention: '90d' },
    });
    expect(await library.admin.rows('select * from taskq.queues')).toMatchObject([
      {
        ...{ name: 'mail', timeout_ms: null, max_attempts: 2_147_483_647, dead_retention: '90d' },
        ...{ group_limit: 1, group_order: 'relaxed', group_on_dead: null, group_by: 'type' },
      },
    ]);
    expect(await actions()).toMatchObject([
      { verb: 'set', queue: 'mail', by: 'ann', settings: { group_limit: 1 } },
      { verb: 'set', settings: { timeout_ms: null, group_order: 'relaxed' } },
    ]);
  });

  test('of a type are set, which makes it known, and null removes one', async () => {
    const queue = library.open();
    await queue.setType(
      'new',
      { breaker: { failures: 5, within: '1m', probeAfter: 'none' }, priority: 'low', queue: 'mail' },
      { by: 'ann' },
    );
    await queue.setType('new', { priority: null });
    const { id } = await queue.enqueue('new', {});
    expect(await queue.get(id)).toMatchObject({ queue: 'mail', priority: 2 });
    const row = () => library.admin.row("select breaker, priority from taskq.task_types where name = 'new'");
    expect(await row()).toEqual({
      breaker: { failures: 5, within_ms: 60_000, probe_after_ms: 'none' },
      priority: null,
    });
    await queue.setType('new', { breaker: '3/10s' });
    expect(await row()).toMatchObject({
      breaker: { failures: 3, within_ms: 10_000, probe_after_ms: 30_000 },
    });
    await queue.setType('new', { breaker: null });
    expect(await row()).toMatchObject({ breaker: null });
  });

  test.each([
    ['setQueue', { groupLimit: 0 }, 'x: groupLimit 0: expected a whole number from 1'],
    ['setQueue', { groupOrder: 'strct' }, 'groupOrder "strct": expected strict or relaxed (did you mean'],
    ['setQueue', { groupOnDead: 'stop' }, 'x: groupOnDead "stop": expected go-on or hold'],
    ['setQueue', { groupBy: 'tenant' }, 'x: groupBy "tenant": expected type or none'],
    ['setQueue', { grouplimit: 1 }, 'unknown option "grouplimit" (did you mean "groupLimit"?)'],
    ['setQueue', { priority: null }, 'unknown option "priority"'],
    ['setType', { breaker: '0/1m' }, 'x: breaker failures 0: expected a whole number from 1 to 1000'],
    ['setType', { groupLimit: 1 }, 'unknown option "groupLimit"'],
    ['setType', null, 'expected an object of settings by name'],
  ] as const)('%s refuses %j, and stores nothing', async (verb, settings, message) => {
    const queue = library.open();
    const refusal = await queue[verb]('x', settings as object).catch((error: unknown) => error);
    expect(refusal).toMatchObject({
      code: 'bad_option',
      exitCode: 2,
      message: expect.stringContaining(message),
    });
    expect(await library.admin.rows('select from taskq.queues')).toEqual([]);
    expect(await library.admin.rows("select from taskq.task_types where name = 'x'")).toEqual([]);
  });
});
