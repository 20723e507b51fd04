import { beforeAll, describe, expect, test } from 'vitest';
import { addDead } from '../../src/queue/operate/add-dead.ts';
import { discard } from '../../src/queue/operate/discard.ts';
import { revive } from '../../src/queue/operate/revive.ts';
import { enqueue, enqueueSome, refuseChanges, statusOf } from './rows.ts';
import { useDatabase } from './session.ts';
import { patiently, waitUntilBlocked } from './waiting.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

test('dead letters are gone for good, what is not dead stays, every id is answered once', async () => {
  const [dead, waiting] = await enqueueSome(queue.admin, 2);
  await addDead(queue.admin, dead!, 'r');
  expect(await discard(queue.admin, ['999999999', waiting!, dead!, dead!])).toMatchObject([
    { id: dead, answer: 'discarded', status: null },
    { id: waiting, answer: 'not_dead', status: 'pending' },
    { id: '999999999', answer: 'not_dead', status: null },
  ]);
  expect(await statusOf(queue.admin, dead!)).toBeUndefined();
  expect(await statusOf(queue.admin, waiting!)).toBe('pending');
  expect(await queue.admin.value('select taskq.show_task($1)', dead)).toBeNull();
});

test('the errors of their attempts are gone, too', async () => {
  const [worker, id] = [await registerWorker(queue.admin), await enqueue(queue.admin)];
  await worker.settle(outcome(await claimOne(worker), 'dead', { reason: 'r', error: { message: 'secret' } }));
  const errors = () =>
    queue.admin.value('select count(*)::int from taskq.task_errors where task_id = $1', id);
  expect(await errors()).toBe(1);
  expect(await discard(queue.admin, [id])).toMatchObject([{ answer: 'discarded' }]);
  expect(await errors()).toBe(0);
});

describe('a discard and a revive of the same letters wait for one another, and neither is refused', () => {
  // They wait for as long as it takes the test to release them.
  beforeAll(async () => {
    for (const verb of ['revive', 'discard'])
      await queue.admin.rows(`alter function taskq.${verb} set lock_timeout = '1min'`);
  });

  const orders = ['first, second', 'second, first'];
  const cases = orders.flatMap((died) =>
    orders.flatMap((keys) => [0, 1].map((held) => [died, keys, held] as const)),
  );

  test.each(cases)('that died in the order %s, of keys in the order %s, number %i held', async (...of) => {
    const [died, keys, held] = of;
    const made = { first: await enqueue(queue.admin), second: await enqueue(queue.admin) };
    const inOrder = (order: string) => order.split(', ').map((name) => made[name as keyof typeof made]);
    const [first, second] = inOrder(keys);
    await queue.admin.rows('update taskq.tasks set unique_key = case id when $1 then 1 else 2 end', first);
    for (const id of inOrder(died)) await addDead(queue.admin, id, 'r');
    const ids = [first!, second!].toSorted();

    const operator = await queue.session();
    await operator.rows('begin');
    await operator.rows("select taskq.add_dead($1, 'another reason')", ids[held]);
    const [reviver, discarder] = [await queue.session(), await queue.session()];
    const both = await patiently(queue.admin, ['revive', 'discard'], async () => {
      const revived = revive(reviver, ids);
      await waitUntilBlocked(queue.admin);
      const answers = Promise.all([revived, discard(discarder, ids)]);
      await waitUntilBlocked(queue.admin, 2);
      await operator.rows('commit');
      return answers;
    });
    // Where both wait for the operator's row, the later one may be the first to get it.
    expect([
      ['revived', 'revived', 'not_dead', 'not_dead'],
      ['not_dead', 'not_dead', 'discarded', 'discarded'],
    ]).toContainEqual(both.flat().map(({ answer }) => answer));
  });
});

test('an old one that a trigger refuses only at the commit stays, and the others are discarded', async () => {
  const ids = await enqueueSome(queue.admin, 3);
  const worker = await registerWorker(queue.admin);
  const tasks = await worker.claim({ start: 3 });
  await worker.settle(...tasks.map((task) => outcome(task, 'dead', { reason: 'r' })));
  await queue.admin.rows('select taskq.set_queue(\'default\', \'{"dead_retention": "1d"}\')');
  await queue.admin.rows("update taskq.dead_tasks set died_at = '2000-01-01'");
  await refuseChanges(queue.admin, 'create constraint trigger', `old.id = ${ids[1]}`, 'dead_tasks');
  expect(await queue.admin.row('select * from taskq.discard_old(9)')).toMatchObject({
    discarded: 2,
    refused: [{ id: Number(ids[1]), error: 'not allowed by the application' }],
  });
});
