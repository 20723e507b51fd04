import { beforeEach, describe, expect, test } from 'vitest';
import { deadRow, enqueue, finishedRow, liveRow } from './rows.ts';
import { useDatabase } from './session.ts';
import { type Answer, claimOne, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();
let worker: PlainWorker;

const ERROR = { name: 'Error', message: 'the provider is down' };

const setType = (settings: object, type = 'work') =>
  queue.admin.rows('select taskq.set_type($1, $2)', type, settings);

async function fail(more: object = {}): Promise<Answer> {
  const [answer] = await worker.settle(
    outcome(await claimOne(worker, { types: ['work', 'next'] }), 'failed', {
      error: ERROR,
      ran_ms: 5,
      ...more,
    }),
  );
  return answer!;
}

beforeEach(async () => {
  worker = await registerWorker(queue.admin, { work: {}, next: {} });
  await setType({ on_failure: 'complete' });
});

test('a failure completes the task at once, and its error stays on record', async () => {
  const id = await enqueue(queue.admin, { max_attempts: 5, key: 'k' });
  const claimed = await claimOne(worker);
  const failed = outcome(claimed, 'failed', { error: ERROR, ran_ms: 5 });
  expect(await worker.settle(failed)).toEqual([
    { id, lease_no: claimed.lease_no, answer: 'recorded', extra: { status: 'completed', attempts: 1 } },
  ]);
  expect(await liveRow(queue.admin, id)).toBeUndefined();
  expect(await finishedRow(queue.admin, id)).toMatchObject({
    status: 'completed',
    attempts: 1,
    error: ERROR,
    result: null,
    lease_owner: worker.id,
  });
  const errors = 'select attempt, outcome, retry_at, error from taskq.task_errors where task_id = $1';
  expect(await queue.admin.rows(errors, id)).toEqual([
    { attempt: 1, outcome: 'failed', retry_at: null, error: ERROR },
  ]);
  // Again: a repeat, not a loss; and its key is free.
  expect(await worker.settle(failed)).toMatchObject([{ answer: 'already' }]);
  expect(
    await queue.admin.value('select created from taskq.enqueue($1, $2, $3)', 'work', '{}', { key: 'k' }),
  ).toBe(true);
});

test('so does its queue, for types without the setting; the type decides over the queue', async () => {
  await setType({ on_failure: null });
  await queue.admin.rows(`select taskq.set_queue('default', '{"on_failure": "complete"}')`);
  await enqueue(queue.admin);
  expect(await fail()).toMatchObject({ extra: { status: 'completed' } });
  await setType({ on_failure: 'retry' });
  await enqueue(queue.admin);
  expect(await fail()).toMatchObject({ extra: { status: 'pending' } });
});

describe('it does not change', () => {
  test('what a handler did not report itself: a crash or a timeout is retried, until its attempts are spent', async () => {
    const id = await enqueue(queue.admin, { max_attempts: 2 });
    expect(await fail({ crashed: true, delay_ms: 0 })).toMatchObject({ extra: { status: 'pending' } });
    expect(await fail({ crashed: true })).toMatchObject({
      extra: { status: 'dead', reason: 'attempts_spent' },
    });
    expect(await deadRow(queue.admin, id)).toMatchObject({ attempts: 2 });
  });

  test('a dead letter that the handler asks for, a snooze, and a cancelled task', async () => {
    await enqueue(queue.admin);
    const [dead] = await worker.settle(outcome(await claimOne(worker), 'dead', { reason: 'no' }));
    expect(dead).toMatchObject({ extra: { status: 'dead' } });
    await enqueue(queue.admin);
    const [snoozed] = await worker.settle(outcome(await claimOne(worker), 'snoozed', { delay_ms: 0 }));
    expect(snoozed).toMatchObject({ extra: { status: 'pending' } });
    const claimed = await claimOne(worker);
    await queue.admin.rows('select taskq.cancel($1)', [claimed.id]);
    expect(await worker.settle(outcome(claimed, 'failed', { error: ERROR }))).toMatchObject([
      { extra: { status: 'cancelled' } },
    ]);
  });
});

test('it is followed as a completion is: by onComplete and not by onDead, and by the steps that wait for it', async () => {
  await queue.admin.rows("select taskq.add_types('{next,dead-end}')");
  await setType({ on_complete: { type: 'next' }, on_dead: { type: 'dead-end' } });
  const id = await enqueue(queue.admin);
  await fail();
  expect(await queue.admin.rows("select type, payload #> '{task,id}' as of from taskq.tasks")).toEqual([
    { type: 'next', of: id },
  ]);
  await queue.admin.rows('delete from taskq.tasks');
  await setType({ on_complete: null, on_dead: null });
  await queue.admin.rows('select taskq.run_workflow($1)', {
    name: 'w',
    steps: [
      { step: 'a', type: 'work' },
      { step: 'b', type: 'next', after: ['a'] },
    ],
  });
  expect(await fail()).toMatchObject({ extra: { status: 'completed' } });
  expect(await claimOne(worker, { types: ['next'] })).toMatchObject({ type: 'next' });
});

test('a breaker counts the failure, and one of its probe keeps it open', async () => {
  await setType({ breaker: { failures: 2, within_ms: 60_000, probe_after_ms: 1 } });
  for (let n = 0; n < 4; n++) await enqueue(queue.admin);
  await fail();
  await fail();
  const isOpen = 'select exists (select from taskq.open_breakers(clock_timestamp()))';
  await worker.claim({ start: 0 });
  expect(await queue.admin.value(isOpen)).toBe(true);
  await queue.admin.rows(
    "update taskq.breakers set failed_at = array(select at - interval '1 s' from unnest(failed_at) as at), opened_at = opened_at - interval '1 s'",
  );
  expect(await fail()).toMatchObject({ extra: { status: 'completed' } });
  await worker.claim({ start: 0 });
  expect(await queue.admin.value(isOpen)).toBe(true);
});

test('the slot of a group is free for the next one', async () => {
  await queue.admin.rows(`select taskq.set_queue('default', '{"group_limit": 1}')`);
  const [first, second] = [
    await enqueue(queue.admin, { group: 'g' }),
    await enqueue(queue.admin, { group: 'g' }),
  ];
  expect(await fail()).toMatchObject({ id: first });
  expect(await claimOne(worker)).toMatchObject({ id: second });
});
