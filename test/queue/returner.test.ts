import { expect, test } from 'vitest';
import type { ClaimedTask } from '../../src/domain/task.ts';
import type { Queryable } from '../../src/lib/database.ts';
import { Returner } from '../../src/worker/returner.ts';
import { enqueueSome, liveRow } from './rows.ts';
import { useDatabase } from './session.ts';
import { registerWorker } from './worker.ts';

const queue = useDatabase();

/** Two tasks that a worker has claimed, and what gives them back by way of `db`. */
async function holding(db: Queryable = queue.admin) {
  await enqueueSome(queue.admin, 2);
  const worker = await registerWorker(queue.admin);
  const held = (await worker.claim({ start: 2 })).map(({ id, lease_no: leaseNo }) => ({
    task: { id, leaseNo } as ClaimedTask,
    slot: 0,
    claimedAt: 0,
  }));
  const returned: string[] = [];
  const returner = new Returner(db, worker.id, ({ task }) => returned.push(task.id));
  return { returner, returned, held, ids: held.map(({ task }) => task.id) };
}

test('a flush resolves when what another has under way is back, too', async () => {
  let answer!: () => void;
  const mayAnswer = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const { returner, returned, held, ids } = await holding({
    async query(statement) {
      await mayAnswer;
      return queue.admin.query(statement);
    },
  });
  for (const task of held) returner.add(task, true);
  void returner.flush(0);
  const last = returner.flush(0);
  answer();
  await last;
  expect(returned.toSorted()).toEqual(ids.toSorted());
});

test('a statement that fails is repeated as long as there is patience, and then said', async () => {
  let failures = 2;
  const { returner, returned, held, ids } = await holding({
    async query(statement) {
      if (failures-- > 0) throw new Error('the connection is gone');
      return queue.admin.query(statement);
    },
  });
  for (const task of held) returner.add(task, true);
  await expect(returner.flush(0)).rejects.toThrow('the connection is gone');
  expect(returned).toEqual([]);
  await returner.flush(60_000);
  expect(returned.toSorted()).toEqual(ids.toSorted());
});

test('what somebody else has locked is asked for until it is free, and nothing waits for it', async () => {
  const { returner, returned, held, ids } = await holding();
  const [locked, free] = ids as [string, string];
  const other = await queue.session();
  await other.rows('begin');
  await other.rows('select from taskq.tasks where id = $1 for update', locked);
  for (const task of held) returner.add(task, true);
  await returner.flush(0);
  expect(returned).toEqual([free]);
  const patient = returner.flush(60_000);
  await other.rows('commit');
  await patient;
  expect(returned).toEqual([free, locked]);
  expect(await liveRow(queue.admin, locked)).toMatchObject({ status: 'pending', releases: 1 });
});
