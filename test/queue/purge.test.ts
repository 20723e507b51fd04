import { expect, test } from 'vitest';
import { addDead } from '../../src/queue/operate/add-dead.ts';
import { cancel } from '../../src/queue/operate/cancel.ts';
import { purge } from '../../src/queue/operate/purge.ts';
import { enqueue, enqueueSome, makeDue, statusOf } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

const errorsOf = (id: string) =>
  queue.admin.value<number>('select count(*)::int from taskq.task_errors where task_id = $1', id);

/** Fails once and completes. */
async function failAndComplete(options: object = {}): Promise<string> {
  const worker = await registerWorker(queue.admin);
  const id = await enqueue(queue.admin, options);
  await worker.settle(outcome(await claimOne(worker), 'failed', { error: { message: 'm' } }));
  await makeDue(queue.admin, [id]);
  await worker.settle(outcome(await claimOne(worker), 'completed', { result: 'secret' }));
  return id;
}

test('of a finished task nothing is left, its errors included, and its neighbour stays', async () => {
  const [id, neighbour] = [await failAndComplete(), await failAndComplete()];
  expect([await errorsOf(id), await errorsOf(neighbour)]).toEqual([1, 1]);
  expect(await purge(queue.admin, [id, id])).toEqual([
    { id, answer: 'purged', status: null, held_key: null },
  ]);
  expect(await queue.admin.value('select taskq.show_task($1)', id)).toBeNull();
  expect([await errorsOf(id), await errorsOf(neighbour)]).toEqual([0, 1]);
  expect(await statusOf(queue.admin, neighbour)).toBe('completed');
});

test('whatever its end and its retention was', async () => {
  const kept = await failAndComplete({ retention: 'ever' });
  const cancelled = await enqueue(queue.admin);
  await cancel(queue.admin, [cancelled]);
  expect(await purge(queue.admin, [kept, cancelled])).toMatchObject([
    { answer: 'purged' },
    { answer: 'purged' },
  ]);
});

test('a live or dead task stays, and its status is returned', async () => {
  const [waiting, dead] = await enqueueSome(queue.admin, 2);
  await addDead(queue.admin, dead!, 'r');
  expect(await purge(queue.admin, [waiting!, dead!, '999999999'])).toMatchObject([
    { id: waiting, answer: 'not_finished', status: 'pending' },
    { id: dead, answer: 'not_finished', status: 'dead' },
    { id: '999999999', answer: 'not_finished', status: null },
  ]);
  expect([await statusOf(queue.admin, waiting!), await statusOf(queue.admin, dead!)]).toEqual([
    'pending',
    'dead',
  ]);
});

test('a key held for a period stays held: the same work is not done twice', async () => {
  const id = await failAndComplete({ key: 'k', key_for: 'ever' });
  await purge(queue.admin, [id]);
  expect(await enqueue(queue.admin, { key: 'k', key_for: 'ever' })).toBe(id);
});
