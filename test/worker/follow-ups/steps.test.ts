import { join } from 'node:path';
import { test } from 'vitest';
import { REPOSITORY } from '../../support/spawn-taskq.ts';
import { event, until, useWorkers } from '../support/workers.ts';

const queue = useWorkers();
const handlers = join(REPOSITORY, 'test/worker/follow-ups/handlers');

test('a handler of a step adds steps to its workflow, which run after it', async () => {
  const given = {
    name: 'grow',
    open: true,
    steps: [
      {
        step: 'a',
        type: 'follow',
        payload: {
          enqueue: [
            ['checked', { to: 'ann' }, { step: 'b', after: ['a'] }],
            ['checked', { to: 'bob' }, { step: 'c', after: ['b'], onDeath: 'wait' }],
          ],
        },
      },
    ],
  };
  const worker = queue.work([], { handlers });
  await worker.waitForLog(event('worker.started'));
  const id = await queue.value('select id from taskq.run_workflow($1)', JSON.stringify(given));
  const statuses = 'select step, status from taskq.workflow_steps where workflow_id = $1 order by step';
  await until(
    async () =>
      (await queue.rows<{ status: string }>(statuses, id)).filter(({ status }) => status === 'completed')
        .length === 3,
    async () => JSON.stringify(await queue.rows(statuses, id)),
  );
  worker.kill();
});
