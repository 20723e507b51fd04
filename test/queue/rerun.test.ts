import { expect, test } from 'vitest';
import { showTask } from '../../src/queue/inspect/show-task.ts';
import { cancel } from '../../src/queue/operate/cancel.ts';
import { rerun } from '../../src/queue/operate/rerun.ts';
import { knowTypes } from '../support/know-types.ts';
import { runWorkflow } from './flow/started.ts';
import { enqueue, finishedRow, liveRow } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

/** Enqueues a task and lets it end. */
async function finish(kind: string, options: object = {}, payload: unknown = { n: 1 }): Promise<string> {
  const id = await enqueue(queue.admin, { priority: 0, ...options }, payload);
  if (kind === 'cancelled') await cancel(queue.admin, [id]);
  else {
    const worker = await registerWorker(queue.admin);
    const queues = [(options as { queue?: string }).queue ?? 'default'];
    await worker.settle(outcome(await claimOne(worker, { queues }), kind));
  }
  return id;
}

/** Options that a new run does not take over: when it starts, what becomes of its key later, who waits for it. */
const NOT_COPIED = ['at', 'delay_ms', 'key_for', 'notify_done', 'on_held', 'source'];

test.each([['completed'], ['cancelled']])(
  'a %s task runs again as a new one with its payload and all its options, and says of which',
  async (kind) => {
    const options = {
      ...{
        queue: 'mail',
        group: 'ann',
        priority: 7,
        tags: { a: '1' },
        max_attempts: 4,
        timeout_ms: 5,
        retention: 'ever',
        key: 'k',
      },
      ...{ backoff: { kind: 'fixed', base_ms: 1 }, expires_ms: 3_600_000 },
      ...{ on_complete: { type: 'then' }, on_dead: { type: 'report' } },
      traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
    };
    expect([...Object.keys(options), ...NOT_COPIED].toSorted()).toEqual(
      (await queue.admin.value<string[]>('select taskq.task_options()')).toSorted(),
    );
    await knowTypes(queue.admin.client, 'work', 'then', 'report');
    const id = await finish(kind, options, { n: null });
    const before = await finishedRow(queue.admin, id);
    const [answer] = await rerun(queue.admin, [id]);
    expect(answer).toMatchObject({ id, answer: 'enqueued', key: null, holder: null, status: null });
    const copy = (await liveRow(queue.admin, answer!.newId!))!;
    const { expires_ms, key, group, on_complete, on_dead, ...same } = options;
    expect(copy).toMatchObject({
      ...{ ...same, timeout_ms: '5', unique_key: key, type: 'work', payload: { n: null }, status: 'blocked' },
      ...{ attempts: 0, lease_no: 0, source: `rerun of ${id}`, group_key: group },
      on_end: { complete: on_complete, dead: on_dead },
    });
    expect(Number(copy.expires_at) - Number(copy.not_before)).toBe(expires_ms);
    expect(await finishedRow(queue.admin, id)).toEqual(before);
  },
);

test('what it did not say itself it does not say again', async () => {
  const id = await finish('completed');
  const [answer] = await rerun(queue.admin, [id], { payload: 'null', delayMs: 60_000 });
  expect(await liveRow(queue.admin, answer!.newId!)).toMatchObject({
    ...{ payload: null, max_attempts: null, timeout_ms: null, backoff: null, retention: null },
    ...{ expires_at: null, unique_key: null, tags: null },
  });
  const waits = "select available_at > clock_timestamp() + interval '30 s' from taskq.tasks where id = $1";
  expect(await queue.admin.value(waits, answer!.newId!)).toBe(true);
});

test('a key that another task has, or that it holds itself for a period, is refused by name; the rest run', async () => {
  const live = await finish('completed', { key: 'live' });
  const held = await finish('completed', { key: 'held', key_for: 'ever' });
  const free = await finish('completed', { key: 'free' });
  const holder = await enqueue(queue.admin, { key: 'live' });
  expect(await rerun(queue.admin, [live, held, free])).toMatchObject([
    { id: live, answer: 'key_held', key: 'live', holder, newId: null },
    { id: held, answer: 'key_held', key: 'held', holder: held, newId: null },
    { id: free, answer: 'enqueued' },
  ]);
});

test('what is not finished does not run again, and every id is answered once', async () => {
  const [waiting, dead, done] = [
    await enqueue(queue.admin, { queue: 'other' }),
    await finish('dead'),
    await finish('completed'),
  ];
  expect(await rerun(queue.admin, [waiting, dead, done, done, '999999999'])).toMatchObject([
    { id: waiting, answer: 'not_finished', status: 'pending' },
    { id: dead, answer: 'not_finished', status: 'dead' },
    { id: done, answer: 'enqueued' },
    { id: '999999999', answer: 'not_finished', status: null },
  ]);
  expect(await queue.admin.value("select count(*)::int from taskq.tasks where queue = 'default'")).toBe(1);
});

test('history keeps what the task said itself', async () => {
  const own = { max_attempts: 4, timeout_ms: 5, retention: '3d', backoff: { kind: 'fixed', base_ms: 1 } };
  for (const kind of ['completed', 'cancelled']) {
    const task = await showTask(queue.admin, await finish(kind, { ...own, expires_ms: 60_000 }));
    expect(task).toMatchObject({ status: kind, ...own, expires_at: expect.stringMatching(/^\d{4}-/) });
  }
});

test('a finished task that the database refuses is answered so; the others run again', async () => {
  const [large, untyped, other] = [
    await finish('completed', { key: 'large' }),
    await finish('completed'),
    await finish('completed'),
  ];
  await queue.admin.rows(
    "update taskq.finished_tasks set payload = to_jsonb(repeat('x', 1048577)) where id = $1",
    large,
  );
  await queue.admin.rows("update taskq.finished_tasks set type = '' where id = $1", untyped);
  const tooLarge = 'its payload is larger than 1 MB; store it elsewhere and enqueue a reference to it';
  const answers = await rerun(queue.admin, [large, untyped, other, '999999']);
  expect(answers.toSorted((a, b) => Number(a.id) - Number(b.id))).toMatchObject([
    { id: large, answer: 'refused', newId: null, problem: tooLarge },
    { id: untyped, answer: 'refused', newId: null, problem: 'it has no type' },
    { id: other, answer: 'enqueued', problem: null },
    { id: '999999', answer: 'not_finished', problem: null },
  ]);
  const recorded = await queue.admin.rows("select task_ids from taskq.audit where verb = 'rerun'");
  expect(recorded.at(-1)).toEqual({ task_ids: [other] });

  expect(await rerun(queue.admin, [large])).toMatchObject([{ answer: 'refused', problem: tooLarge }]);
  expect(await rerun(queue.admin, [large], { payload: '{}' })).toMatchObject([{ answer: 'enqueued' }]);
});

test('a task of a workflow does not run again without it', async () => {
  await knowTypes(queue.admin.client, 'work');
  const { id, steps } = await runWorkflow(queue.admin, [{ step: 'a' }]);
  await cancel(queue.admin, [steps.a!]);
  expect(await rerun(queue.admin, [steps.a!])).toMatchObject([
    {
      ...{ id: steps.a, answer: 'refused', newId: null },
      problem: `it belongs to workflow ${id}, which a copy of it would not: retry the workflow instead`,
    },
  ]);
  expect(await queue.admin.rows('select from taskq.tasks')).toEqual([]);
});
