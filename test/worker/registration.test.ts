import { mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { event, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

test('a worker starts and works types that an open transaction is adding, and stores later what handlers say of them', async () => {
  const handlers = await mkdtemp(join(inject('scratchDirectory'), 'handlers-'));
  await writeFile(
    join(handlers, 'patient.mjs'),
    "export default { timeout: '1h', expires: '2h', run: async () => 'done' };",
  );
  const session = await queue.session();
  await session.query("begin; select taskq.add_types('{patient}')");
  const worker = queue.work([], { handlers });
  await worker.waitForLog(event('worker.started'));
  const id = await queue.enqueue('patient');
  await queue.hasStatus(id, 'completed');
  expect(await queue.rows('select name from taskq.task_types')).toEqual([]);
  await session.query('commit');
  await until(
    () =>
      queue.value(
        "select timeout_ms = 3600000 and expires_ms = 7200000 from taskq.task_types where name = 'patient'",
      ),
    async () => worker.stdout(),
  );
  worker.kill();
  expect(await worker.exit, worker.stdout()).toEqual({ code: 0, signal: null });
});

test('a worker ends although an operator’s transaction keeps its row locked', async () => {
  const worker = queue.work();
  const { worker_id: id } = await worker.waitForLog(event('worker.started'));
  const session = await queue.session();
  await session.query('begin');
  await session.query('select taskq.stop_worker($1)', [id]);
  worker.kill();
  expect(await worker.exit, worker.stdout()).toEqual({ code: 0, signal: null });
  await session.query('rollback');
});
