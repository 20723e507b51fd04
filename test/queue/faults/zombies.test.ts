import { describe, expect, test } from 'vitest';
import { enqueue } from '../rows.ts';
import { useDatabase } from '../session.ts';
import { type Claimed, claimOne, outcome, type PlainWorker, registerWorker } from '../worker.ts';

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
  'completes with a follow-up': (zombie, task) =>
    zombie.session.rows(
      'select answer from taskq.settle_and_enqueue($1, $2)',
      zombie.id,
      JSON.stringify([{ ...outcome(task, 'completed'), enqueue: [{ type: 'work' }] }]),
    ),
  reports: (zombie, { id, lease_no }) =>
    zombie.session.rows(
      'select answer from taskq.note($1, $2)',
      zombie.id,
      JSON.stringify([
        {
          ...{ id, lease_no, progress: { value: 0.5, text: 'of the zombie' } },
          warnings: [{ n: 1, error: { message: 'of the zombie' } }],
          log: { first: 1, lines: [{ ago_ms: 0, level: 'info', message: 'of the zombie' }] },
        },
      ]),
    ),
};

/** What a server may forget that crashed with `synchronous_commit = off`, or whose standby or backup took over. */
async function loseClaim(id: string): Promise<void> {
  await queue.admin.rows(
    `update taskq.tasks
     set status = 'pending', lease_owner = null, lease_expires_at = null, started_at = null, lease_no = 0
     where id = $1`,
    id,
  );
}

/** The same, if it has also forgotten the task itself and has given its id to another one. */
async function loseTask(id: string): Promise<void> {
  await queue.admin.rows('delete from taskq.tasks where id = $1', id);
  const other = await enqueue(queue.admin, {}, 'another');
  await queue.admin.rows('update taskq.tasks set id = $1 where id = $2', id, other);
}

/** How the attempt under the newer lease may end, and where the row is then. */
const ENDS: Readonly<Record<string, object>> = {
  completed: {},
  failed: { delay_ms: 0 },
  snoozed: { delay_ms: 3_600_000 },
  dead: { reason: 'of the other' },
  cancelled: { reason: 'of the other' },
};

describe.each([
  ['running', false],
  ['claimed ahead', true],
])('a worker whose claim the database forgot, its task %s', (_, ahead) => {
  async function forgotten(): Promise<{
    zombie: PlainWorker;
    task: Claimed;
    other: PlainWorker;
    again: Claimed;
  }> {
    const id = await enqueue(queue.admin);
    const zombie = await registerWorker(await queue.session());
    const other = await registerWorker(await queue.session());
    const task = await claimOne(zombie, { ahead: ahead ? 1 : 0 });
    await loseClaim(id);
    const again = { ...(await claimOne(other)), lease_no: task.lease_no };
    // Both have drawn the same number: then only the worker tells their leases apart.
    await queue.admin.rows('update taskq.tasks set lease_no = $1 where id = $2', again.lease_no, id);
    return { zombie, task, other, again };
  }

  test.each(Object.entries(ENDS))(
    'loses, and takes nothing for its own outcome, once the other has said %s, which may say so again',
    async (kind, more) => {
      const { zombie, task, other, again } = await forgotten();
      expect(await other.settle(outcome(again, kind, more))).toMatchObject([{ answer: 'recorded' }]);
      for (const say of Object.values(SAYINGS)) {
        expect(await say(zombie, task)).toMatchObject([{ answer: 'lost' }]);
      }
      expect(await other.settle(outcome(again, kind, more))).toMatchObject([{ answer: 'already' }]);
    },
  );
});

describe.each([
  ['a claim', loseClaim],
  ['a task', loseTask],
])('a worker that claims again what the database gave it once and forgot (%s)', (_, lose) => {
  test.each(Object.entries(ENDS))(
    'can say nothing under its older lease, neither before nor after it has said %s under the new one',
    async (kind, more) => {
      const id = await enqueue(queue.admin);
      const worker = await registerWorker(queue.admin);
      const forgotten = await claimOne(worker);
      await lose(id);
      const current = await claimOne(worker);
      expect(current.id).toBe(id);
      const before = await queue.admin.rows('select * from taskq.tasks');
      for (const say of Object.values(SAYINGS)) {
        expect(await say(worker, forgotten)).toMatchObject([{ answer: 'lost' }]);
      }
      expect(await queue.admin.rows('select * from taskq.tasks')).toEqual(before);
      expect(await worker.settle(outcome(current, kind, more))).toMatchObject([{ answer: 'recorded' }]);
      const ended = await queue.admin.rows('select * from taskq.all_tasks');
      for (const say of Object.values(SAYINGS)) {
        expect(await say(worker, forgotten)).toMatchObject([{ answer: 'lost' }]);
      }
      expect(await queue.admin.rows('select * from taskq.all_tasks')).toEqual(ended);
    },
  );
});

test.each(['cancel', 'add_dead'])(
  'who put a task back may repeat that after an operator has ended it (%s)',
  async (verb) => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const other = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    const failed = outcome(task, 'failed', { delay_ms: 3_600_000 });
    await worker.settle(failed);
    if (verb === 'cancel') await queue.admin.rows('select taskq.cancel(array[$1]::bigint[])', id);
    else await queue.admin.rows("select taskq.add_dead($1, 'r')", id);
    expect(await other.settle(failed)).toMatchObject([{ answer: 'lost' }]);
    expect(await worker.settle(failed)).toMatchObject([{ answer: 'already' }]);
  },
);
