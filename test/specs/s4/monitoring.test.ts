import { expect, test } from 'vitest';
import { useSpecification } from '../use-specification.ts';

const s4 = useSpecification(import.meta.url);

test('the three SELECTs of "Direct DB access" read the queue as it is', async () => {
  await s4.enqueue('flaky_task');
  await s4.enqueue('flaky_task', {}, { maxAttempts: 1 });
  await s4.enqueue('my_task', { x: 1 });
  await s4.enqueue('my_task', { x: 2 });
  await s4.taskq(['work', '--max-tasks', '4']);
  for (const priority of [5, 0, 2]) await s4.enqueue('my_task', { x: priority }, { priority });

  // SELECT * FROM tasks WHERE state='pending' ORDER BY priority DESC;
  const pending = await s4.admin.rows<{ priority: number; type: string }>(
    "select * from taskq.all_tasks where status = 'pending' order by priority, id",
  );
  expect(pending.map(({ priority, type }) => [priority, type])).toEqual([
    [0, 'my_task'],
    [2, 'flaky_task'],
    [2, 'my_task'],
    [5, 'my_task'],
  ]);

  // SELECT COUNT(*) FROM tasks WHERE state='failed';
  const failed = `select count(*) from taskq.all_tasks
    where status = 'dead' or (status = 'pending' and attempts > 0)`;
  expect(await s4.admin.value(failed)).toBe('2');

  // SELECT AVG(completed_at - started_at) FROM tasks WHERE state='completed';
  await s4.admin.rows(
    "update taskq.finished_tasks set started_at = finished_at - (payload ->> 'x')::integer * interval '1 s'",
  );
  const average = `select extract(epoch from avg(finished_at - started_at))::float8
    from taskq.all_tasks where status = 'completed'`;
  expect(await s4.admin.value(average)).toBe(1.5);
});
