import { expect, test } from 'vitest';
import { listTypes } from '../../src/queue/inspect/list-types.ts';
import { addTypes } from '../../src/queue/operate/add-types.ts';
import { knownTypes } from '../../src/queue/protocol/known-types.ts';
import { unregisterWorker } from '../../src/queue/protocol/register-worker.ts';
import { enqueueSome, silence } from './rows.ts';
import { useDatabase } from './session.ts';
import { LEASE_MS, registerWorker } from './worker.ts';

const queue = useDatabase();

test('an added type is known, and was not seen yet', async () => {
  await queue.admin.rows('delete from taskq.task_types');
  expect(await addTypes(queue.admin, ['b', 'a', 'b'])).toEqual([
    { name: 'a', added: true },
    { name: 'b', added: true },
  ]);
  expect(await addTypes(queue.admin, ['a', 'c'])).toEqual([
    { name: 'a', added: false },
    { name: 'c', added: true },
  ]);
  expect(await knownTypes(queue.admin)).toEqual(['a', 'b', 'c']);
  expect((await listTypes(queue.admin))[0]).toMatchObject({
    name: 'a',
    last_seen_at: null,
    first_seen_at: expect.stringMatching(/^\d{4}-/),
    workers: [],
    waiting: 0,
    max_attempts: null,
  });
});

test('adding one that a worker has registered changes nothing of what its handler says', async () => {
  await registerWorker(queue.admin, { work: { max_attempts: 7, timeout_ms: 5000, retention: '2d' } });
  await addTypes(queue.admin, ['work']);
  expect(await listTypes(queue.admin)).toMatchObject([
    { name: 'work', max_attempts: 7, timeout_ms: 5000, retention: '2d', backoff: null },
  ]);
});

test('a worker that registers an added type says when it was seen', async () => {
  await addTypes(queue.admin, ['work']);
  await registerWorker(queue.admin, { work: { max_attempts: 2 } });
  expect(await listTypes(queue.admin)).toMatchObject([
    { max_attempts: 2, last_seen_at: expect.stringMatching(/^\d{4}-/) },
  ]);
});

test('it is handled by live workers alone', async () => {
  const names = async () => (await listTypes(queue.admin)).map(({ workers }) => workers.length);
  const [stopped, silent] = [await registerWorker(queue.admin), await registerWorker(queue.admin)];
  await registerWorker(queue.admin);
  expect(await names()).toEqual([3]);
  await unregisterWorker(queue.admin, stopped.id);
  await silence(queue.admin, silent.id, LEASE_MS + 1000);
  expect(await names()).toEqual([1]);
});

test('pending tasks are counted, running ones are not', async () => {
  const worker = await registerWorker(queue.admin);
  await enqueueSome(queue.admin, 5);
  await worker.claim({ start: 2 });
  expect(await listTypes(queue.admin)).toMatchObject([{ name: 'work', waiting: 3 }]);
});

test('a name that no task could have is refused', async () => {
  await expect(addTypes(queue.admin, ['x'.repeat(201)])).rejects.toThrow('expected 1 to 200 bytes');
});
