import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { eventsOf, useWorkers } from './support/workers.ts';

const queue = useWorkers();

test('a handler that ends the process of its worker with 0 is no success: exit code 1, and a line that names the task', async () => {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'leave.mjs'), 'export default () => process.exit(0);');
  const id = await queue.enqueue('leave');
  const worker = queue.work(['--until-idle'], { handlers: directory });
  expect(await worker.exit).toEqual({ code: 1, signal: null });
  expect(eventsOf(worker, 'worker.exited')).toMatchObject([{ exit_code: 0, task_ids: [id] }]);
  expect(await queue.task(id)).toMatchObject({ status: 'running' });
});
