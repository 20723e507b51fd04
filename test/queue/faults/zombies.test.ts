import { describe, expect, test } from 'vitest';
import { enqueue, finishedRow, lapse, liveRow, rescueAll, silence } from '../rows.ts';
import { useDatabase } from '../session.ts';
import { type Claimed, claimOne, LEASE_MS, outcome, type PlainWorker, registerWorker } from '../worker.ts';

const queue = useDatabase();

/** All that a worker can say about a task it holds. */
const SAYINGS: Readonly<
  Record<string, (zombie: PlainWorker, task: Claimed) => Promise<readonly { answer: string }[]>>
> = {
  completes: (zombie, task) => zombie.settle(outcome(task, 'completed', { result: 'of the zombie' })),
  fails: (zombie, task) => zombie.settle(outcome(task, 'failed', { error: { message: 'of the zombie' } })),
  snoozes: (zombie, task) => zombie.settle(outcome(task, 'snoozed', { delay_ms: 3_600_000 })),
  'gives up': (zombie, task) => zombie.settle(outcome(task, 'dead', { reason: 'of the zombie' })),
  cancels: (zombie, task) => zombie.settle(outcome(task, 'cancelled', { reason: 'of the zombie' })),
  renews: (zombie, task) => zombie.heartbeat([task]),
  'says that it runs': (zombie, task) => zombie.heartbeat([{ ...task, started_ms: 60_000 }]),
  'gives back': (zombie, task) => zombie.giveBack([task]),
};

/** A worker that was stopped for three leases, and the task it held, rescued meanwhile. */
async function makeZombie(
  ahead: boolean,
): Promise<{ zombie: PlainWorker; task: Claimed; other: PlainWorker }> {
  const id = await enqueue(queue.admin);
  const zombie = await registerWorker(await queue.session());
  const other = await registerWorker(await queue.session());
  const task = await claimOne(zombie, { ahead: ahead ? 1 : 0 });
  await silence(queue.admin, zombie.id, 3 * LEASE_MS);
  await lapse(queue.admin, [id], 2 * LEASE_MS);
  expect(await rescueAll(other.session, other.id)).toMatchObject([{ id, status: 'pending' }]);
  return { zombie, task, other };
}

describe.each([
  ['running', false],
  ['claimed ahead', true],
])('a zombie with a task %s', (_, ahead) => {
  describe.each(Object.entries(SAYINGS))('that %s', (_saying, say) => {
    test('changes nothing while the task waits again', async () => {
      const { zombie, task, other } = await makeZombie(ahead);
      const before = await liveRow(queue.admin, task.id);
      expect(await say(zombie, task)).toMatchObject([{ answer: 'lost' }]);
      expect(await liveRow(queue.admin, task.id)).toEqual(before);
      const again = await claimOne(other);
      expect(await other.settle(outcome(again, 'completed', { result: 'of the other' }))).toMatchObject([
        { answer: 'recorded' },
      ]);
      expect(await finishedRow(queue.admin, task.id)).toMatchObject({
        lease_no: 3,
        lease_owner: other.id,
        result: 'of the other',
      });
    });

    test('changes nothing while the task runs again elsewhere', async () => {
      const { zombie, task, other } = await makeZombie(ahead);
      const again = await claimOne(other);
      const before = await liveRow(queue.admin, task.id);
      expect(await say(zombie, task)).toMatchObject([{ answer: 'lost' }]);
      expect(await liveRow(queue.admin, task.id)).toEqual(before);
      expect(await zombie.claim()).toEqual([]);
      expect(await other.heartbeat([again])).toMatchObject([{ answer: 'renewed', cancel_requested: false }]);
      expect(await other.settle(outcome(again, 'completed', { result: 'of the other' }))).toMatchObject([
        { answer: 'recorded' },
      ]);
      const ended = await finishedRow(queue.admin, task.id);
      expect(ended).toMatchObject({
        lease_no: 3,
        lease_owner: other.id,
        result: 'of the other',
        attempts: 0,
      });
      expect(await say(zombie, task)).toMatchObject([{ answer: 'lost' }]);
      expect(await finishedRow(queue.admin, task.id)).toEqual(ended);
      expect(
        await queue.admin.value("select count(*)::int from taskq.task_errors where outcome <> 'lost'"),
      ).toBe(0);
    });

    test('changes nothing while it runs the task again itself, under another lease', async () => {
      const { zombie, task } = await makeZombie(ahead);
      const again = await claimOne(zombie);
      const before = await liveRow(queue.admin, task.id);
      expect(await say(zombie, task)).toMatchObject([{ answer: 'lost' }]);
      expect(await liveRow(queue.admin, task.id)).toEqual(before);
      expect(await zombie.settle(outcome(again, 'completed'))).toMatchObject([{ answer: 'recorded' }]);
    });
  });
});
