import { expect, test } from 'vitest';
import { showGroup } from '../../src/queue/inspect/show-group.ts';
import { enqueue, enqueueSome } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

const ann = () => showGroup(queue.admin, 'default', 'ann');
const inGroup = (options: object = {}) => enqueue(queue.admin, { group: 'ann', ...options });
const setQueue = (settings: object) =>
  queue.admin.rows("select taskq.set_queue('default', $1)", JSON.stringify(settings));
const setGroup = (settings: object) =>
  queue.admin.rows("select taskq.set_group('default', 'ann', $1)", JSON.stringify(settings));

test('a group needs no task, limit or pause to be shown', async () => {
  expect(await ann()).toEqual({
    queue: 'default',
    name: 'ann',
    group_limit: null,
    slots: null,
    ...{ rate: null, burst: null, next_slot_at: null },
    applies: {
      limit: { value: null, from: 'defaults' },
      rate: { value: null, from: 'defaults' },
      order: { value: 'strict', from: 'defaults' },
      on_dead: { value: 'go-on', from: 'defaults' },
    },
    ...{ holding: 0, waiting: 0, delayed: 0, holders: [], next: [], stops: [] },
    ...{ paused_at: null, paused_by: null, pause_reason: null },
  });
});

test('each setting says where it comes from', async () => {
  await setQueue({ group_limit: 3, group_order: 'relaxed', group_on_dead: 'hold' });
  expect((await ann()).applies).toEqual({
    limit: { value: 3, from: 'queue' },
    rate: { value: null, from: 'defaults' },
    order: { value: 'relaxed', from: 'queue' },
    on_dead: { value: 'hold', from: 'queue' },
  });
  await setGroup({ limit: 5 });
  expect(await ann()).toMatchObject({
    group_limit: 5,
    slots: 5,
    applies: { limit: { value: 5, from: 'group' } },
  });
});

test('the tasks that have a slot come with their state, the next ones in the order in which they get one', async () => {
  await setQueue({ group_limit: 2 });
  const worker = await registerWorker(queue.admin);
  const retrying = await inGroup();
  await worker.settle(outcome(await claimOne(worker), 'failed', { delay_ms: 60_000 }));
  const running = await inGroup();
  await worker.claim();
  const later = await inGroup();
  const urgent = await inGroup({ priority: 0 });
  await inGroup({ delay_ms: 60_000 });
  const { holders, next, ...counts } = await ann();
  expect(counts).toMatchObject({ slots: 2, holding: 2, waiting: 2, delayed: 1, stops: [] });
  expect(holders).toEqual([
    { id: retrying, type: 'work', priority: 2, status: 'pending', since: null, due: expect.any(String) },
    { id: running, type: 'work', priority: 2, status: 'running', since: expect.any(String), due: null },
  ]);
  expect(Date.parse(holders[0]!.due!)).toBeGreaterThan(Date.now() + 50_000);
  expect(next.map(({ id }) => id)).toEqual([urgent, later]);
});

test('at most ten tasks with a slot and ten without one are shown', async () => {
  await setQueue({ group_limit: 15 });
  const ids = await enqueueSome(queue.admin, 30, { group: 'ann' });
  await (await registerWorker(queue.admin)).claim({ start: 15 });
  const shown = await ann();
  expect(shown).toMatchObject({ holding: 15, waiting: 15 });
  expect(shown.holders.map(({ id }) => id)).toEqual(ids.slice(0, 10));
  expect(shown.next.map(({ id }) => id)).toEqual(ids.slice(15, 25));
});

test('all that stops it is named: a pause, a dead letter, a task that has put it off', async () => {
  await setQueue({ group_limit: 2, group_on_dead: 'hold' });
  const worker = await registerWorker(queue.admin);
  const [dead, snoozed] = [await inGroup(), await inGroup()];
  const [first, second] = await worker.claim({ start: 2 });
  await worker.settle(
    outcome(first!, 'dead', { reason: 'hopeless' }),
    outcome(second!, 'snoozed', { delay_ms: 60_000, hold: 'group' }),
  );
  await queue.admin.rows("select taskq.pause_group('default', 'ann', 'bob', 'deploy')");
  const { slots, stops } = await ann();
  expect(slots).toBe(0);
  expect(stops).toEqual([
    {
      cause: 'group_paused',
      group: 'ann',
      since: expect.any(String),
      by: expect.stringContaining('bob'),
      reason: 'deploy',
      until: null,
    },
    { cause: 'group_held', group: 'ann', dead_task: dead, until: null },
    { cause: 'group_held', group: 'ann', snoozed_by: snoozed, until: expect.any(String) },
  ]);
});
