import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { createWorker, TaskQueue } from 'taskq';
import { expect, test } from 'vitest';
import { useLibrary } from './use-queue.ts';

const library = useLibrary();

test('close() waits for the statements that wait for a connection', async () => {
  // In a process of its own, which ends when nothing is left to wait for.
  const program = `
    import { TaskQueue } from 'taskq';
    const queue = new TaskQueue({ databaseUrl: process.env.DATABASE_URL });
    await queue.stats();
    const all = Array.from({ length: 30 }, () => queue.enqueue('work', {}));
    setImmediate(() => queue.close());
    const settled = await Promise.allSettled(all);
    console.log(settled.filter(({ status }) => status === 'fulfilled').length);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    env: { ...process.env, DATABASE_URL: library.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const printed = text(child.stdout);
  await once(child, 'close');
  expect({ code: child.exitCode, printed: await printed }).toEqual({ code: 0, printed: '30\n' });
  expect(await library.admin.value('select count(*)::int from taskq.tasks')).toBe(30);
});

test('a second close() waits for the first', async () => {
  const queue = new TaskQueue({ databaseUrl: library.url });
  await queue.stats();
  const order: string[] = [];
  void queue.stats().then(() => order.push('answered'));
  void queue.close().then(() => order.push('first'));
  await queue.close().then(() => order.push('second'));
  expect(order).toEqual(['answered', 'first', 'second']);
});

test('`ended` of a worker whose handlers do not load rejects as its start does', async () => {
  const worker = createWorker({ databaseUrl: library.url, handlers: '/no/such/directory' });
  const why = await worker.start().catch((error: unknown) => error);
  await expect(worker.ended).rejects.toBe(why);
  await worker.stop();
});
