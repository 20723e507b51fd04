import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { TaskQueue } from '../../src/index.ts';
import { emptyDatabase } from '../support/database.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { createProject, type Project } from './project.ts';

let project: Project;
/** As the role that docs/production.md describes: it may call functions, and has no right on any table. */
let url: string;
let env: Record<string, string>;

beforeAll(async () => {
  project = await createProject();
  url = await project.callerUrl();
  env = { DATABASE_URL: url, TASKQ_DIRECT_URL: url };
});
afterEach(killStartedTaskqs);
afterAll(() => project.drop());

const json = (...args: string[]) => project.json(args, { env });
const work = (...args: string[]) =>
  startTaskq(['work', '--poll', '100ms', ...args], { cwd: project.directory, env });

test('the role has no right on any table, view or sequence', async () => {
  const rights = `
    select c.relname from pg_class c
    where c.relnamespace = 'taskq'::regnamespace and c.relkind in ('r', 'p', 'v', 'S')
      and has_table_privilege($1, c.oid, 'select, insert, update, delete, truncate')`;
  const role = /\/\/(\w+)@/.exec(url)![1];
  expect((await project.client.query(rights, [role])).rows).toEqual([]);
});

test('a worker runs as such a role: it claims, settles, maintains and ends without a refusal', async () => {
  const waiting = work();
  await waiting.waitForLog((line) => line.event === 'worker.started');
  expect(await json('enqueue', 'double', '{"n":21}', '--wait')).toMatchObject({ result: 42 });
  const many = Array.from({ length: 600 }, () => '{"type":"double","payload":{"n":1}}').join('\n');
  expect((await project.run(['enqueue', '--envelope', '--file', '-'], { env, input: many })).code).toBe(0);
  const drained = work('--until-idle');
  expect(await drained.exit).toMatchObject({ code: 0 });
  waiting.kill();
  expect(await waiting.exit).toMatchObject({ code: 0 });
  for (const worker of [waiting, drained])
    expect(worker.logs().filter(({ level }) => level === 'error' || level === 'warn')).toEqual([]);
  expect(drained.stderr() + waiting.stderr()).not.toMatch(/permission|denied|refused/);
});

// Every command runs as such a role in output-schema.test.ts.

test('the library works as such a role', async () => {
  const queue = new TaskQueue({ databaseUrl: url });
  const { id } = await queue.enqueue('double', { n: 2 }, { allowUnknown: true });
  const working = work('--until-idle');
  expect(await queue.wait(id)).toMatchObject({ status: 'completed', result: 4 });
  expect(await queue.get(id)).toMatchObject({ status: 'completed' });
  expect(await working.exit).toMatchObject({ code: 0 });
  await queue.close();
});

test('migrate as such a role says whose the schema is, and what the role needs for everything else', async () => {
  const { code, stderr } = await project.run(['migrate'], { env });
  expect(stderr).toMatch(
    /^taskq: role (\w+) may not change the schema taskq, which belongs to role \w+: permission denied .* — run taskq migrate as (\w+), or first: grant \2 to \1(?: with set true)?; for other commands: taskq grants prints what a role needs\n$/,
  );
  expect(code).toBe(1);
});

test('migrate --status as such a role shows what is applied: it only reads', async () => {
  const status = () => project.run(['migrate', '--status'], { env });
  expect(await status()).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^(?:applied {2}(?:schema|migration|functions) .*\n){4,}$/),
    stderr: '',
  });
  await project.client.query('update taskq.release set number = number - 1');
  expect((await status()).stdout).toMatch(/^due {6}functions release \d+\n$/m);
  await project.client.query('update taskq.release set number = number + 2');
  expect(await status()).toMatchObject({ code: 3, stderr: expect.stringContaining('is newer than') });
  await project.client.query('update taskq.release set number = number - 1');
});

test('migrate as a role that may create no schema names the right, and what grants it', async () => {
  const empty = await emptyDatabase();
  const role = `newcomer_${empty.name}`;
  const client = await empty.client();
  await client.query(`create role ${role} login`);
  const mine = empty.directUrl.replace(/\/\/[^@/]*@/, `//${role}@`);
  const migrate = () => project.run(['migrate'], { env: { DATABASE_URL: mine, TASKQ_DIRECT_URL: mine } });
  expect(await migrate()).toMatchObject({
    code: 1,
    stderr:
      `taskq: role ${role} may not create the schema taskq: it lacks CREATE on database ${empty.name} — ` +
      `as the owner of the database: grant create on database ${empty.name} to ${role}; or migrate as another role\n`,
  });
  await client.query(`grant create on database ${empty.name} to ${role}`);
  expect(await migrate()).toMatchObject({ code: 0 });
  await client.query(`drop owned by ${role} cascade; drop role ${role}`);
  await empty.drop();
});
