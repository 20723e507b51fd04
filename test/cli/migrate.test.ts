import { afterAll, beforeAll, expect, test } from 'vitest';
import { emptyDatabase, type TestDatabase } from '../support/database.ts';
import { runTaskq } from '../support/run-taskq.ts';

let database: TestDatabase;
const migrate = (...args: string[]) =>
  runTaskq(['migrate', ...args], {
    env: { DATABASE_URL: database.url, TASKQ_DIRECT_URL: database.directUrl },
  });

beforeAll(async () => {
  database = await emptyDatabase();
});
afterAll(() => database.drop());

test('migrate says what it would do, does it with a line per step, and has nothing to do the second time', async () => {
  const dryRun = await migrate('--dry-run');
  expect(dryRun).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^would apply schema taskq\nwould apply migration 1_create-tasks\n/),
  });

  const due = JSON.parse((await migrate('--status', '--json')).stdout);
  expect(due.steps.map((step: { applied: boolean }) => step.applied)).not.toContain(true);

  const first = await migrate();
  expect(first.code).toBe(0);
  expect(first.stdout).toBe(dryRun.stdout.replaceAll('would apply', 'applied'));
  expect(first.stderr).toBe('');

  expect(await migrate()).toMatchObject({ code: 0, stdout: 'nothing to do: the schema is up to date\n' });
  expect(await migrate('--status')).toMatchObject({ stdout: expect.stringMatching(/^(applied {2}.*\n)+$/) });
});
