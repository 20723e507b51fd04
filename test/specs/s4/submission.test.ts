import { expect, test } from 'vitest';
import { useSpecification } from '../use-specification.ts';

const s4 = useSpecification(import.meta.url);

test('a task is submitted with a delay, retries, timeout, priority and tags, and is found by its tag', async () => {
  const options = ['--delay', '60s', '--max-attempts', '6', '--timeout', '30s', '--priority', '9'];
  const submitted = await s4.taskq(['enqueue', 'my_task', '{"x":5}', ...options, '--tag', 'batch=daily']);
  expect(submitted).toMatchObject({ code: 0 });
  await s4.enqueue('my_task', { x: 6 }, { tags: { batch: 'hourly' } });
  const listed = await s4.taskq(['list', '--tag', 'batch=daily', '--json']);
  expect(JSON.parse(listed.stdout).tasks).toMatchObject([
    {
      id: submitted.stdout.trim(),
      type: 'my_task',
      payload: { x: 5 },
      tags: { batch: 'daily' },
      priority: 9,
      max_attempts: 6,
      timeout_ms: 30_000,
    },
  ]);
});

test('a task that is not registered is refused when it is submitted', async () => {
  const { code, stderr } = await s4.taskq(['enqueue', 'my_tsak', '{"x":5}']);
  expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('my_task') });
  expect(await s4.admin.rows('select from taskq.tasks')).toEqual([]);
});

test('invalid arguments are refused when they are submitted', async () => {
  const { code, stderr } = await s4.taskq(['enqueue', 'my_task', '{"x":"five"}']);
  expect({ code, stderr }).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('$.x: expected a number'),
  });
  expect(await s4.admin.rows('select from taskq.tasks')).toEqual([]);
});
