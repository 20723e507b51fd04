import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { waitUntil } from './queue/waiting.ts';
import { createTestDatabase, type TestDatabase } from './support/database.ts';
import { runCommand } from './support/run-command.ts';
import { type RunningProgram, startProgram } from './support/run-program.ts';
import { REPOSITORY } from './support/spawn-taskq.ts';

const EXAMPLES = join(REPOSITORY, 'examples');

let database: TestDatabase;
const started: RunningProgram[] = [];

/** Start an example as its first lines say. */
function start(name: string): RunningProgram {
  const program = startProgram(join(EXAMPLES, name), { DATABASE_URL: database.url });
  started.push(program);
  return program;
}

beforeAll(async () => {
  database = await createTestDatabase();
});
afterEach(() => Promise.all(started.splice(0).map((program) => program.kill())));
afterAll(() => database.drop());

test('an enqueue script and an application with a worker inside: the task runs, and both end in order', async () => {
  const application = start('application.mjs');
  await waitUntil(
    async () => application.output().includes('worker.started'),
    'the application does not work',
  );
  const script = start('enqueue.mjs');
  expect(await script.exit).toBe(0);
  const [, order, id] = /^order (\d+), task (\d+)\ncompleted/.exec(script.output()) ?? [];
  expect(script.output()).toContain(`{ sent: true, order: '${order}' }`);
  application.signal('SIGTERM');
  expect(await application.exit).toBe(0);
  const shown = await runCommand(['show', id!, '--json'], { env: { DATABASE_URL: database.url } });
  expect(JSON.parse(shown.stdout)).toMatchObject({
    status: 'completed',
    attempts: 0,
    errors: [{ outcome: 'snoozed', result: { order, state: 'printing' } }],
  });
});

describe('by roles without a right on any table of the queue,', () => {
  const roles = { producer: '', worker: '' };

  beforeAll(async () => {
    const client = await database.client();
    for (const kind of ['producer', 'worker'] as const) {
      roles[kind] = `${kind}_${database.name}`;
      await client.query(`create role ${roles[kind]} login`);
      await client.query(`grant create on database ${database.name} to ${roles[kind]}`);
      const granted = await runCommand(['grants', `--${kind}`, roles[kind], '--apply'], {
        env: { DATABASE_URL: database.url },
      });
      expect(granted).toMatchObject({ code: 0 });
    }
    // Its function runs with the rights of who made it, a producer.
    psql('producer', '-f', join(EXAMPLES, 'trigger.sql'));
    await client.query("select taskq.add_types('{greet, divide}')");
  });
  afterAll(async () => {
    const client = await database.client();
    for (const role of Object.values(roles))
      await client.query(`drop owned by ${role} cascade; drop role ${role}`);
  });

  const urlOf = (kind: keyof typeof roles) => database.directUrl.replace(/\/\/[^@/]*@/, `//${roles[kind]}@`);
  const psql = (kind: keyof typeof roles, ...args: string[]) =>
    execFileSync('psql', ['-X', '-q', '-A', '-t', urlOf(kind), ...args], { encoding: 'utf8' });

  /** One that a trigger enqueues, and two more, of which one fails at first. */
  function enqueueThree(name: string): string[] {
    psql('producer', '-c', `insert into greetings.orders (customer) values ('${name}')`);
    const enqueue =
      'select id from taskq.enqueue(\'divide\', \'{"by": 6, "n": $n}\', \'{"max_attempts": 1}\')';
    return [3, 0].map((n) => psql('producer', '-c', enqueue.replace('$n', String(n))).trim());
  }

  async function expectWorked(name: string, [divided, failed]: string[]): Promise<void> {
    const client = await database.client();
    const ends = 'select status, result, error, created_by from taskq.all_tasks where ';
    const greeted = await client.query(`${ends} payload ->> 'name' = $1`, [name]);
    expect(greeted.rows).toMatchObject([
      { status: 'completed', result: `hello ${name}`, created_by: roles.producer },
    ]);
    expect((await client.query(`${ends} id = $1`, [divided])).rows).toMatchObject([
      { status: 'completed', result: 2 },
    ]);
    expect((await client.query(`${ends} id = $1`, [failed])).rows).toMatchObject([
      { status: 'dead', error: { message: expect.stringMatching(/division by zero/) } },
    ]);
    expect((await client.query('select from taskq.workers where stopped_at is null')).rows).toEqual([]);
  }

  test('a trigger enqueues, and a worker in psql works', async () => {
    const tasks = enqueueThree('ann');
    psql('worker', '-f', join(EXAMPLES, 'worker.sql'));
    await expectWorked('ann', tasks);
  });

  test('a worker in Python works, and rescues the task of one that was killed', async () => {
    const python = ['/usr/bin/python3', 'python3'].find(
      (path) => spawnSync(path, ['-c', 'import psycopg']).status === 0,
    );
    if (python === undefined) throw new Error('apt-get install python3-psycopg');
    const tasks = enqueueThree('bob');
    const client = await database.client();
    // Long silent, with a lease that has run out.
    await client.query(`
      with gone as (
        select worker_id from taskq.register_worker('{"host": "h", "pid": 1, "unique_part": "x", "concurrency": 1, "lease_ms": 1000, "types": {"greet": {}}}')
      )
      select taskq.claim(worker_id, '{default}', '{greet}', 1, 0, 1000) from gone`);
    await client.query(
      "update taskq.workers set heartbeat_at = heartbeat_at - interval '1 hour' where stopped_at is null",
    );
    await client.query(
      "update taskq.tasks set lease_expires_at = lease_expires_at - interval '1 hour' where lease_owner is not null",
    );
    const worker = spawn(python, [join(EXAMPLES, 'worker.py')], {
      env: { ...process.env, DATABASE_URL: urlOf('worker') },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const exit = once(worker, 'exit');
    await waitUntil(
      async () => (await client.query('select from taskq.tasks')).rowCount === 0,
      'the worker leaves tasks',
    );
    worker.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
    await expectWorked('bob', tasks);
    expect(
      (await client.query("select losses from taskq.all_tasks where payload ->> 'name' = 'bob'")).rows,
    ).toEqual([{ losses: 1 }]);
  });
});

test('every example is run: here, the supervisors in test/examples, alerts and dashboard in test/server/metrics', () => {
  const names = [
    ...['application.mjs', 'enqueue.mjs', 'grafana', 'prometheus', 'supervisors'],
    ...['trigger.sql', 'worker.py', 'worker.sql'],
  ];
  expect(readdirSync(EXAMPLES)).toEqual(names);
});
