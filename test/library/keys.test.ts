import { expect, test } from 'vitest';
import type { KeyRecord, TaskQueue } from '../../src/index.ts';
import { useLibrary } from './use-queue.ts';

const library = useLibrary();

async function listed(queue: TaskQueue, filter: Parameters<TaskQueue['listKeys']>[0] = {}) {
  const keys: KeyRecord[] = [];
  for await (const key of queue.listKeys(filter)) keys.push(key);
  return keys;
}

test('keys that are held for a period or forever are listed, all of them, by queue and key', async () => {
  const queue = library.open();
  const { id } = await queue.enqueue('work', {}, { key: 'once', keyFor: 'ever' });
  await queue.enqueue('work', {}, { key: 'while it lives' });
  const many = Array.from({ length: 205 }, (_, n) => `k${String(n).padStart(3, '0')}`);
  await queue.enqueueMany(many.map((key) => ({ type: 'work', key, keyFor: '3d', queue: 'mail' }) as const));
  await queue.cancel(id);
  const [ever, ...periods] = await listed(queue);
  expect(ever).toEqual({ queue: 'default', key: 'once', taskId: id, status: 'cancelled', until: null });
  expect(periods.map(({ key }) => key)).toEqual(many);
  expect(periods[0]).toMatchObject({ queue: 'mail', status: 'pending', until: expect.any(Date) });
  expect(await listed(queue, { queue: 'mail', key: 'k007' })).toEqual([periods[7]]);
  expect(await listed(queue, { key: 'k007', queue: 'default' })).toEqual([]);
  await expect(listed(queue, { queue: '' })).rejects.toThrow('queue');
});

test('a key that is freed can be enqueued with again, at once or when its task has ended, and who freed it is kept', async () => {
  const queue = library.open();
  const enqueue = () => queue.enqueue('work', {}, { queue: 'mail', key: 'k', keyFor: 'ever' });
  const { id } = await enqueue();
  await queue.cancel(id);
  expect(await enqueue()).toMatchObject({ id, created: false });
  expect(await queue.releaseKey({ queue: 'mail', key: 'k' }, { by: 'ann' })).toBe('released');
  expect(await queue.releaseKey({ queue: 'mail', key: 'k' })).toBe('not_held');
  expect(await queue.releaseKey({ key: 'k' })).toBe('not_held');
  const second = await enqueue();
  expect(second.created).toBe(true);
  expect(await queue.releaseKey({ queue: 'mail', key: 'k' })).toBe('live');
  await queue.cancel(second.id);
  expect((await enqueue()).created).toBe(true);
  expect(
    await library.admin.rows("select by, task_ids from taskq.audit where verb = 'release key' order by id"),
  ).toEqual([
    { by: 'ann', task_ids: [id] },
    { by: null, task_ids: [second.id] },
  ]);
});
