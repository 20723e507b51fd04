import { expect, test } from 'vitest';
import { waitUntil } from '../../queue/waiting.ts';
import { ageLeases, useSpecification } from '../use-specification.ts';
import { begun } from '../witnesses.ts';

const s3 = useSpecification(import.meta.url);

const AGENTS = ['fitment_agent', 'catalog_agent'];

test('each task that completes leaves an AgentEvent and one embedding job, also if it fails and if its worker dies', async () => {
  const ids: string[] = [];
  for (let part = 0; part < 40; part++) {
    const queue = AGENTS[part % 2]!;
    ids.push((await s3.enqueue('describe_part', { part, fails: part % 5 === 0 }, { queue })).id);
  }
  const agents = ['--queues', AGENTS.join(',')];
  const killed = s3.work([...agents, '--concurrency', '4']);
  await begun(s3.admin, 5);
  killed.kill('SIGKILL');
  await killed.exit;
  await ageLeases(s3.admin, killed);

  const workers = [s3.work(agents), s3.work(['--queues', 'embedding_jobs'])];
  const live = 'select count(*)::integer from taskq.tasks';
  await waitUntil(async () => (await s3.admin.value(live)) === 0, 'tasks are left');
  for (const worker of workers) worker.kill();
  await Promise.all(workers.map(({ exit }) => exit));

  const completed = await s3.admin.rows<{ id: string }>(
    "select id from taskq.finished_tasks where type = 'describe_part' and status = 'completed' order by id",
  );
  expect(completed.map(({ id }) => id)).toEqual(ids);
  const events = await s3.admin.rows<{ id: string }>(
    'select task_id as id from app.agent_events order by id',
  );
  expect(events.map(({ id }) => id)).toEqual(ids);
  const jobs = await s3.admin.rows<{ event: string; queue: string }>(
    "select payload ->> 'event' as event, queue from taskq.all_tasks where type = 'embed_event' order by (payload ->> 'event')::bigint",
  );
  expect(jobs).toEqual(ids.map((event) => ({ event, queue: 'embedding_jobs' })));
  const embedded = 'select count(distinct event)::integer from app.embeddings';
  expect(await s3.admin.value(embedded)).toBe(ids.length);
});
