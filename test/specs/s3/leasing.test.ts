import { hostname } from 'node:os';
import { expect, test } from 'vitest';
import { waitUntil } from '../../queue/waiting.ts';
import { ageLeases, claims, complaints, useSpecification, waitForRunning } from '../use-specification.ts';
import { begun, doneIds, processes, witnesses } from '../witnesses.ts';

const s3 = useSpecification(import.meta.url);

const TYPE = 'generate_fitment';

test('no task is processed twice by many workers that lease one at a time', async () => {
  const openGate = await s3.hold('app.gate');
  const ids: string[] = [];
  for (let n = 0; n < 150; n++) ids.push((await s3.enqueue(TYPE)).id);
  const workers = [1, 2, 3].map(() => s3.work(['--until-idle', '--concurrency', '1', '--batch', '1']));
  await waitForRunning(s3.admin, 3);
  await openGate();
  await Promise.all(workers.map((worker) => worker.exit));
  expect((await doneIds(s3.admin)).sort()).toEqual(ids.sort());
  expect(await processes(s3.admin)).toBe(3);
  expect(workers.flatMap(complaints)).toEqual([]);
});

test('the task of a worker that was killed is run by another when its lease has expired', async () => {
  const openGate = await s3.hold('app.gate');
  const { id } = await s3.enqueue(TYPE);
  const killed = s3.work(['--lease', '4s']);
  await begun(s3.admin, 1);
  expect((await s3.task(id)).lease_owner).toMatch(`${hostname()}:${killed.pid}:`);
  killed.kill('SIGKILL');
  await killed.exit;

  const other = s3.work(['--until-idle']);
  await claims(other);
  expect(await s3.task(id)).toMatchObject({ status: 'running', losses: 0 });
  await ageLeases(s3.admin, killed);
  await openGate();
  expect(await other.exit).toMatchObject({ code: 0 });

  expect((await witnesses(s3.admin)).map(({ event }) => event)).toEqual(['begun', 'begun', 'done']);
  expect(await s3.task(id)).toMatchObject({ status: 'completed', attempts: 0, losses: 1 });
  expect(other.logs()).toContainEqual(expect.objectContaining({ event: 'task.rescued', task_id: id }));
});

test('a heartbeat extends the lease of a task that takes longer than it', async () => {
  const openGate = await s3.hold('app.gate');
  const { id } = await s3.enqueue(TYPE);
  const workers = [1, 2].map(() => s3.work(['--until-idle', '--lease', '3s']));
  await waitForRunning(s3.admin, 1);
  const leased = 'select started_at + $1::interval < clock_timestamp() from taskq.tasks';
  await waitUntil(() => s3.admin.value(leased, '3.2 s'), 'the first lease is not over');
  await openGate();
  await Promise.all(workers.map((worker) => worker.exit));
  expect(await s3.task(id)).toMatchObject({ status: 'completed', losses: 0 });
  expect(await doneIds(s3.admin)).toEqual([id]);
});

test('critical comes before high, medium and low; within a priority, what was enqueued first', async () => {
  const priorities = ['low', 'low', 'critical', 'critical', 'medium', 'medium', 'high', 'high'];
  const input = priorities.map((priority) => JSON.stringify({ priority, payload: {} })).join('\n');
  await s3.taskq(['enqueue', TYPE, '--envelope', '--file', '-'], { input });
  const rows = await s3.admin.rows<{ id: string; priority: number }>(
    'select id, priority from taskq.tasks order by id',
  );
  expect(rows.map((row) => row.priority)).toEqual([3, 3, 0, 0, 2, 2, 1, 1]);

  await s3.taskq(['work', '--until-idle', '--concurrency', '1']);
  expect(await doneIds(s3.admin)).toEqual([2, 3, 6, 7, 4, 5, 0, 1].map((place) => rows[place]!.id));
});
