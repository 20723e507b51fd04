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
};

/** What a server may forget that crashed with `synchronous_commit = off`, or whose standby or backup took over. */
async function loseClaim(id: string): Promise<void> {
  await queue.admin.rows(
    `update taskq.tasks
     set status = 'pending', lease_owner = null, lease_expires_at = null, started_at = null, lease_no = lease_no - 1
     where id = $1`,
    id,
  );
}

/** How the attempt under the same lease_no may end, and where the row is then. */
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
    const again = await claimOne(other);
    expect(again.lease_no).toBe(task.lease_no);
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
