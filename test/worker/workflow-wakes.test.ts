import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Session } from '../queue/session.ts';
import { registerWorker } from '../queue/worker.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { useWorkers } from './support/workers.ts';

const queue = useWorkers('file');

/** Starts a worker that handles one type. */
async function workerOf(type: string) {
  const handlers = await temporaryDirectory();
  await writeFile(join(handlers, `${type}.js`), 'export default () => {};\n');
  const worker = queue.work([], { handlers });
  await worker.waitForLog(({ event }) => event === 'worker.started');
  return worker;
}

/** Runs a chain of steps of these types. Returns its id and the ids of its tasks. */
async function runChain(types: readonly string[]) {
  const steps = types.map((type, n) => ({ step: `${n}`, type, after: n === 0 ? [] : [`${n - 1}`] }));
  const [made] = await queue.rows<{ id: string; extra: { steps: Record<string, string> } }>(
    'select id, extra from taskq.run_workflow($1, $2)',
    JSON.stringify({ name: 'chain', steps }),
    { allow_unknown: true },
  );
  return { id: made!.id, tasks: types.map((_, n) => made!.extra.steps[n]!) };
}

test('steps that only another worker handles start at once, though nobody but the one before wakes it', async () => {
  await Promise.all(['ping', 'pong'].map(workerOf));
  const { id, tasks } = await runChain(Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? 'ping' : 'pong')));
  // A sleeping worker looks by itself after seconds.
  await queue.hasStatus(tasks.at(-1)!, 'completed', 40_000);
  expect(
    await queue.value('select count(*)::integer from taskq.workflow_steps where workflow_id = $1', id),
  ).toBe(40);
});

test('a step starts although the worker that ended its parent never claimed, as it had promised', async () => {
  await workerOf('ping');
  const plain = await registerWorker(queue as unknown as Session);
  const { tasks } = await runChain(['work', 'ping']);
  const [held] = await plain.claim();
  await queue.rows(
    `select from taskq.complete($1, $2, $3, options => '{"will_claim": true}')`,
    ...[plain.id, [held!.id], [held!.lease_no]],
  );
  await queue.hasStatus(tasks[1]!, 'completed');
});
