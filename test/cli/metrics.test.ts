import { afterAll, beforeAll, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

type Counts = Readonly<Record<string, unknown>>;

let project: Project;
beforeAll(async () => {
  project = await createProject();
});
afterAll(() => project.drop());

test('taskq metrics shows what happened, by minute or by day', async () => {
  expect(await project.run(['metrics'])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: 'nothing has been counted; a worker adds up what happened every 15 s\n',
  });
  await project.json(['enqueue', 'double', '{"n": 1}']);
  await project.run(['work', '--until-idle', '--quiet', '--poll', '50ms']);
  await project.client.query('select taskq.fold_counts()');
  expect(await project.run(['metrics', '--queue', 'defualt'])).toMatchObject({
    code: 0,
    stdout: '',
    stderr: `nothing has been counted; a worker adds up what happened every 15 s
queue "defualt" is not known: did you mean "default"?
`,
  });
  for (const span of ['minute', 'day']) {
    const { metrics } = await project.json(['metrics', ...(span === 'day' ? ['--days'] : [])]);
    // The task may have been created in one minute and have ended in the next.
    const sum = (name: string) =>
      metrics.reduce((total: number, row: Counts) => total + Number(row[name]), 0);
    expect(metrics.length).toBeGreaterThan(0);
    for (const row of metrics) expect(row).toMatchObject({ span, queue: 'default', type: 'double' });
    expect(['tasks_created', 'tasks_completed', 'tasks_failed'].map(sum)).toEqual([1, 1, 0]);
  }
  expect((await project.run(['metrics', '--days'])).stdout).toMatch(
    /^SINCE +QUEUE +TYPE +CREATED +COMPLETED +FAILED +LATENCY +ERRORS +HEARTBEAT\n(\d{4}-\d\d-\d\d +default +double +[01] +[01] +0 +\S+ +\S+( %)? +\S+\n)+$/,
  );
  expect(await project.json(['metrics', '--type', 'triple'])).toEqual({ metrics: [] });
});

test.each([
  [['--limit', '0'], '--limit 0: expected a number from 1 to 100000'],
  [['--since', 'monday'], '--since'],
])('it refuses %s', async (options, problem) => {
  const { code, stderr } = await project.run(['metrics', ...options]);
  expect(code).toBe(2);
  expect(stderr).toContain(problem);
});
