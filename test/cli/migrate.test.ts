import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { emptyDatabase, type TestDatabase } from '../support/database.ts';
import { runCommand } from '../support/run-command.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';

let database: TestDatabase;
const migrate = (...args: string[]) =>
  runCommand(['migrate', ...args], {
    env: { DATABASE_URL: database.url, TASKQ_DIRECT_URL: database.directUrl },
  });

beforeAll(async () => {
  database = await emptyDatabase();
});
afterEach(killStartedTaskqs);
afterAll(() => database.drop());

test('--dry-run lists the steps, migrate prints a line for each, and a second run has nothing to do', async () => {
  const dryRun = await migrate('--dry-run');
  expect(dryRun).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^-- schema taskq\ncreate schema if not exists taskq;\n/),
  });

  const due = JSON.parse((await migrate('--status', '--json')).stdout);
  expect(due.steps.map((step: { applied: boolean }) => step.applied)).not.toContain(true);

  const first = await migrate();
  expect(first.code).toBe(0);
  const steps = [...dryRun.stdout.matchAll(/^-- ((?:schema|migration|functions) [\w-]+(?: \d+)?)$/gm)];
  expect(first.stdout).toBe(steps.map(([, step]) => `applied ${step}\n`).join(''));
  expect(dryRun.stdout).toMatch(/^create table taskq\.tasks \($/m);
  expect(dryRun.stdout).toMatch(/^create or replace function taskq\.enqueue\(/m);
  expect(first.stderr).toBe('');

  expect(await migrate()).toMatchObject({ code: 0, stdout: 'nothing to do: the schema is up to date\n' });
  expect(await migrate('--status')).toMatchObject({ stdout: expect.stringMatching(/^(applied {2}.*\n)+$/) });
});

test('--with installs an addition beside the schema; from then on it is part of what migrate shows and upgrades', async () => {
  await migrate();
  expect((await migrate('--status')).stdout).not.toContain('addition');
  expect(await migrate('--with', 'quues')).toMatchObject({
    code: 2,
    stdout: '',
    stderr: expect.stringContaining('--with "quues": expected queues'),
  });
  const dryRun = await migrate('--with', 'queues', '--dry-run');
  expect(dryRun.stdout).toMatch(/^-- addition queues\ncreate schema if not exists queues;\n/);
  expect(await migrate('--with', 'queues')).toMatchObject({ code: 0, stdout: 'applied addition queues\n' });
  expect(await migrate('--with', 'queues')).toMatchObject({
    stdout: expect.stringMatching(/^nothing to do/),
  });
  expect((await migrate('--status')).stdout).toMatch(/^applied {2}addition queues$/m);

  const client = await database.client();
  await client.query(
    `update taskq.release set number = number - 1, objects = jsonb_set(objects, '{queues.task,hash}', '""')`,
  );
  expect(await migrate()).toMatchObject({
    stdout: expect.stringMatching(/^applied functions release \d+\n$/),
  });
  const { rows } = await client.query(
    "select objects -> 'queues.task' ->> 'hash' <> '' as is_ours from taskq.release",
  );
  expect(rows).toEqual([{ is_ours: true }]);
});

test('while another session reads a table that it changes, it names that session, and continues afterwards', async () => {
  await migrate();
  const [client, reader] = [await database.client(), await database.client()];
  // As if the release before had another view.
  await client.query(
    `update taskq.release set number = number - 1, objects = jsonb_set(objects, '{all_tasks,hash}', '""')`,
  );
  await reader.query("set application_name = 'report'; begin; select from taskq.all_tasks");
  const waiting = startTaskq(['migrate'], { env: { DATABASE_URL: database.directUrl } });
  while (!waiting.stderr().includes('\n')) await new Promise((resolve) => setTimeout(resolve, 20));
  expect(waiting.stderr()).toMatch(
    /^waiting for session \d+ \(report of \w+, in a transaction since 20.*\)\n$/,
  );
  await reader.query('commit');
  expect(await waiting.exit).toMatchObject({ code: 0 });
  expect(waiting.stdout()).toMatch(/^applied functions release \d+\n$/);
});

test('a database of another encoding than UTF8 is refused, and gets no schema', async () => {
  const client = await database.client();
  const name = `${database.name}_latin`;
  await client.query(`create database ${name} template template0 encoding 'LATIN1' locale 'C'`);
  const url = database.directUrl.replace(database.name, name);
  const refused = await runCommand(['migrate'], { env: { DATABASE_URL: url } });
  await client.query(`drop database ${name}`);
  expect(refused).toMatchObject({
    code: 2,
    stdout: '',
    stderr: `taskq: the database ${name} has the encoding LATIN1: taskq needs UTF8 — use another one, made with createdb --encoding UTF8 --template template0\n`,
  });
});
