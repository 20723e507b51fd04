import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { TaskQueue } from '../../src/index.ts';
import { readFunctions } from '../../src/queue/schema/schema-release.ts';
import { waitUntil } from '../queue/waiting.ts';
import { emptyDatabase } from '../support/database.ts';
import { killStartedTaskqs, startTaskq } from '../support/start-taskq.ts';
import { createProject, type Project } from './project.ts';

const KINDS = ['producer', 'worker', 'reader', 'operator'] as const;
type Kind = (typeof KINDS)[number];

/** Command lines, by the kinds of roles that may run them. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  'producer, worker, reader, operator': ['migrate --status'],
  producer: ['enqueue double {} --key a', 'workflow open grow', 'workflow run flow.json'],
  'producer, operator': ['workflow close 1'],
  worker: ['work --until-idle --poll 50ms'],
  'producer, reader, operator': ['workflow wait 1'],
  'worker, operator': ['schedule add nightly @daily double'],
  'reader, operator': [
    'list',
    'show 1',
    'explain 1',
    'stats',
    'dead list',
    'dead show 1',
    'queues list',
    'groups list default',
    'groups show default ann',
    'workers list',
    'types list',
    'schedule list',
    'schedule show nightly',
    'schedule preview nightly',
    'workflow list',
    'workflow show 1',
    'keys list',
    'keys show kept',
    'defaults show',
    'metrics',
    'events',
    'audit',
    'dead groups',
    'operations list',
    'tokens list',
  ],
  operator: [
    'retry 1',
    'edit 1 --to-priority 1',
    'dead add 1 --reason parked',
    'dead revive 1',
    'dead discard 1 --yes',
    'cancel 1',
    'rerun 1',
    'purge 1 --yes',
    'queues pause mail',
    'queues resume mail',
    'queues set mail --retention 3d',
    'groups pause default ann',
    'groups resume default ann',
    'groups set default ann --limit 2',
    'workers pause $worker',
    'workers resume $worker',
    'workers set $worker --concurrency 2',
    'workers stop $worker',
    'types add triple',
    'types set triple --timeout 1s',
    'types resume triple',
    'types remove triple',
    'schedule sync --config schedules.json',
    'schedule run nightly',
    'schedule pause nightly',
    'schedule resume nightly',
    'schedule remove nightly',
    'operations stop 1',
    'workflow cancel 1',
    'workflow retry 1',
    'keys release kept',
    'tokens add shop',
    'tokens revoke shop',
    'defaults set --max-attempts 4',
  ],
};

let project: Project;
let worker: string;
const roles = {} as Record<Kind, string>;

const urlOf = (role: string) => project.directUrl.replace(/\/\/[^@/]*@/, `//${role}@`);
const as = (role: string) => ({ env: { DATABASE_URL: urlOf(role), TASKQ_DIRECT_URL: urlOf(role) } });
const value = async <T>(text: string, ...values: unknown[]) =>
  Object.values((await project.client.query(text, values)).rows[0]!)[0] as T;

/** Who owns what is in the schema, and the rights of others. */
async function rights(): Promise<unknown[]> {
  const { rows } = await project.client.query(`
    select 'schema' as what, nspname::text as name, nspowner::regrole::text as owner, nspacl::text as acl
    from pg_namespace where nspname = 'taskq'
    union all
    select 'relation', oid::regclass::text, relowner::regrole::text, relacl::text
    from pg_class where relnamespace = 'taskq'::regnamespace and relkind <> 'i'
    union all
    select 'function', oid::regprocedure::text, proowner::regrole::text, proacl::text
    from pg_proc where pronamespace = 'taskq'::regnamespace
    union all
    select 'type', oid::regtype::text, typowner::regrole::text, typacl::text
    from pg_type where typnamespace = 'taskq'::regnamespace
    order by 1, 2`);
  return rows;
}

beforeAll(async () => {
  project = await createProject();
  await project.enqueue();
  const flow = { name: 'flow', steps: [{ step: 'a', type: 'double' }] };
  await writeFile(join(project.directory, 'flow.json'), JSON.stringify(flow));
  const schedules = { hourly: { expression: '@hourly', type: 'double' } };
  await writeFile(join(project.directory, 'schedules.json'), JSON.stringify({ schedules }));
  for (const kind of KINDS) {
    roles[kind] = `${kind}_${await value<string>('select current_database()')}`;
    await project.client.query(`create role ${roles[kind]} login`);
  }
  await project.client.query("select taskq.add_types('{double}')");
  await project.client.query(
    `select taskq.run_workflow('{"name": "w", "steps": [{"step": "a", "type": "double"}]}')`,
  );
  const about = {
    host: 'h',
    pid: 1,
    unique_part: 'x',
    concurrency: 1,
    lease_ms: 600_000,
    types: { double: {} },
  };
  worker = String(await value<number>('select worker_id from taskq.register_worker($1)', about));
  const named = KINDS.flatMap((kind) => [`--${kind}`, roles[kind]]);
  expect(await project.run(['grants', ...named, '--apply'])).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(
      /^the schema taskq belongs to taskq_owner, and no longer to postgres\nproducer_\w+ may call \d+ functions: producer\n/,
    ),
  });
});

afterAll(async () => {
  for (const role of Object.values(roles))
    await project.client.query(`drop owned by ${role} cascade; drop role ${role}`);
  await project.drop();
});

test('each role may call exactly the functions whose files name its kind, and has no right on a table', async () => {
  const functions = await readFunctions();
  for (const kind of KINDS) {
    const { rows } = await project.client.query<{ name: string }>(
      `select proname as name from pg_proc
       where pronamespace = 'taskq'::regnamespace and has_function_privilege($1, oid, 'execute') order by 1`,
      [roles[kind]],
    );
    const named = functions.filter(({ text }) =>
      new RegExp(`^-- Granted to: .*\\b${kind}\\b`, 'm').test(text),
    );
    expect(rows.map(({ name }) => name)).toEqual(named.map(({ name }) => name).sort());
    const onTables = `
      select count(*)::int from pg_class
      where relnamespace = 'taskq'::regnamespace and relkind in ('r', 'p', 'v', 'S')
        and has_table_privilege($1, oid, 'select, insert, update, delete, truncate')`;
    expect(await value(onTables, roles[kind])).toBe(0);
  }
});

test('all of the schema belongs to a role that may do nothing else, and none of it is open to everybody', async () => {
  const all = (await rights()) as { owner: string; acl: string | null; what: string; name: string }[];
  expect(all.length).toBeGreaterThan(300);
  expect(all.filter(({ owner }) => owner !== 'taskq_owner')).toEqual([]);
  expect(all.filter(({ what, acl }) => what !== 'type' && /[{,]=/.test(acl ?? ''))).toEqual([]);
  const { rows } = await project.client.query(
    "select rolcanlogin, rolsuper, rolcreaterole, rolcreatedb from pg_roles where rolname = 'taskq_owner'",
  );
  expect(rows).toEqual([{ rolcanlogin: false, rolsuper: false, rolcreaterole: false, rolcreatedb: false }]);
});

describe.each(Object.entries(VERBS))('as a %s, and as no other role,', (kinds, lines) => {
  test.each(lines)('taskq %s', async (line) => {
    for (const kind of KINDS) {
      const args = line.replace('$worker', worker).split(' ');
      const { stderr, code } = await project.run([...args, '--json'], as(roles[kind]));
      if (kinds.split(', ').includes(kind)) {
        expect(stderr, kind).not.toMatch(/not_granted|denied/);
        continue;
      }
      expect(JSON.parse(stderr), `${kind}: ${stderr}`).toMatchObject({
        error: {
          code: 'not_granted',
          message: expect.stringMatching(`^role ${roles[kind]} may not call taskq\\.\\w+$`),
          hint: expect.stringMatching(
            new RegExp(
              `^taskq grants (?=.*--(${kinds.replaceAll(', ', '|')})\\b)--\\w+ ${roles[kind]} prints what it needs( \\(or --\\w+(, --\\w+)*\\))?$`,
            ),
          ),
        },
      });
      expect(code, kind).toBe(1);
    }
  });
});

test('a producer is told that a workflow has not ended in time, and needs no further right for that', async () => {
  const { stdout } = await project.run(['workflow', 'open', 'grow'], as(roles.producer));
  const id = stdout.trim();
  expect(await project.run(['workflow', 'wait', id, '--timeout', '10ms'], as(roles.producer))).toMatchObject({
    code: 4,
    stderr: `taskq: workflow ${id} has not ended in time and continues — see taskq workflow show ${id}\n`,
  });
});

test('taskq serve needs a role that reads, and with --write one that also acts or enqueues', async () => {
  const refusal = (kind: string, role: string) => ({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(
      new RegExp(
        `^taskq: role ${role} may not call taskq\\.\\w+, and \\d+ functions more — taskq grants ${kind} ${role} prints what it needs \\(or --operator\\)\n$`,
      ),
    ),
  });
  for (const role of [roles.producer, roles.worker])
    expect(await project.run(['serve'], as(role))).toMatchObject(refusal('--reader', role));
  expect(await project.run(['serve', '--write'], as(roles.reader))).toMatchObject(
    refusal('--producer', roles.reader),
  );
});

test('a server whose role may only read and enqueue does that, and says what it may not', async () => {
  const gate = `gate_${await value<string>('select current_database()')}`;
  await project.client.query(`create role ${gate} login`);
  onTestFinished(async () => {
    await killStartedTaskqs();
    await project.client.query(`drop owned by ${gate} cascade; drop role ${gate}`);
  });
  await project.run(['grants', '--reader', gate, '--producer', gate, '--apply']);
  const { token } = await project.json(['tokens', 'add', 'gate', '--role', 'operator']);
  const taskq = startTaskq(['serve', '--write', '--port', '0', '--json'], {
    cwd: project.directory,
    ...as(gate),
  });
  const { url } = await taskq.waitForLog((line) => line.url !== undefined);
  const post = (path: string, body: object) =>
    fetch(`${url}api/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  expect((await fetch(`${url}api/v1/tasks`)).status).toBe(200);
  expect((await post('tasks', { type: 'double', payload: { n: 1 } })).status).toBe(201);
  const refused = await post('queues/mail/pause', {});
  expect(refused.status).toBe(503);
  expect(await refused.json()).toMatchObject({
    code: 'not_granted',
    detail: expect.stringMatching(
      /^the server cannot do this: in the database, (the role|role \w+) may not call taskq\.\w+$/,
    ),
    hint: expect.stringMatching(/^taskq grants --operator \S+ prints what it needs$/),
  });
  taskq.kill('SIGTERM');
  expect(await taskq.exit).toEqual({ code: 0, signal: null });
  // Neither the last use of a token, nor operations that workers go on with, are worth a line.
  expect(taskq.stderr()).toMatch(/^taskq: (the role|role \w+) may not call taskq\.\w+ — [^\n]*\n$/);
});

test('the library says the same, with the error of the server as its cause', async () => {
  const queue = new TaskQueue({ databaseUrl: urlOf(roles.reader) });
  await expect(queue.enqueue('double', { n: 1 })).rejects.toMatchObject({
    code: 'not_granted',
    message: `role ${roles.reader} may not call taskq.enqueue`,
    hint: `taskq grants --producer ${roles.reader} prints what it needs`,
    cause: { code: '42501' },
  });
  await queue.close();
});

test('what it prints does the same in psql, and doing it again changes nothing', async () => {
  const before = await rights();
  const named = KINDS.flatMap((kind) => [`--${kind}`, roles[kind]]);
  const { stdout } = await project.run(['grants', ...named]);
  expect(stdout).toMatch(/^begin;\nset local lock_timeout = '1s';\n/);
  expect(stdout).toContain(`\ngrant usage on schema taskq to "${roles.reader}";\n`);
  await project.client.query(stdout);
  expect(await value('select current_user')).toBe('postgres');
  expect(await rights()).toEqual(before);
});

test('an owner that may do more than own the schema is refused, and what it may is named', async () => {
  const { stdout } = await project.run(['grants', '--reader', roles.reader]);
  // In a transaction that comes to nothing: other tests have the same role.
  const statements = stdout.replace(/^begin;/, '').replace(/\ncommit;\n$/, '\n');
  for (const [attributes, found, hint] of [
    ['login', 'login', 'nologin'],
    ['createdb replication', 'createdb, replication', 'nocreatedb noreplication'],
    ['createrole bypassrls', 'createrole, bypassrls', 'nocreaterole nobypassrls'],
  ]) {
    await project.client.query(`begin; alter role taskq_owner ${attributes}`);
    const granted = project.client.query(statements);
    await expect(granted, attributes).rejects.toMatchObject({
      code: '42501',
      message: `role taskq_owner may do more than own the schema: ${found}`,
      hint: `alter role taskq_owner ${hint}`,
    });
    await project.client.query('rollback');
  }
});

test('while the schema is migrated, it waits', async () => {
  const other = await project.connect();
  await other.query("select pg_advisory_lock(hashtext('taskq.migrate'))");
  const granted = project.run(['grants', '--reader', roles.reader, '--apply']);
  // It looks who is in its way once it has found that somebody is.
  const looks = `select exists (
    select from pg_stat_activity where datname = current_database() and query like '%unnest(pg_catalog.pg_blocking_pids%'
      and pid <> pg_backend_pid()
  )`;
  await waitUntil(() => value<boolean>(looks), 'it waits for nobody');
  await other.query('select pg_advisory_unlock_all()');
  expect(await granted).toMatchObject({ code: 0 });
});

test('--no-follow-ups leaves a worker nothing with which it could enqueue', async () => {
  const may = () =>
    value<string[]>(
      `select array_agg(f order by f) from unnest('{enqueue, set_schedule, settle, settle_and_enqueue}'::text[]) as f
       join pg_proc p on p.proname = f and p.pronamespace = 'taskq'::regnamespace
       where has_function_privilege($1, p.oid, 'execute')`,
      roles.worker,
    );
  expect(await may()).toEqual(['set_schedule', 'settle', 'settle_and_enqueue']);
  await project.run(['grants', '--worker', roles.worker, '--no-follow-ups', '--apply']);
  expect(await may()).toEqual(['settle']);
  const session = await project.connect();
  await session.query(`set session authorization ${roles.worker}`);
  const follows = { type: 'double', queue: 'elsewhere', payload: {} };
  const types = { ended: { on_complete: follows, timeout_ms: 1000 }, died: { on_dead: follows }, plain: {} };
  const about = { host: 'h', pid: 1, unique_part: 'no-follow-ups', concurrency: 1, lease_ms: 600_000, types };
  const { rows } = await session.query('select extra from taskq.register_worker($1)', [about]);
  const fault = `role ${roles.worker} may not call taskq.settle_and_enqueue`;
  expect(rows[0].extra.left_out).toEqual([
    { type: 'died', fault },
    { type: 'ended', fault },
  ]);
  expect(
    await value(
      `select jsonb_object_agg(name, array[on_complete, on_dead, to_jsonb(timeout_ms)])
       from taskq.task_types where name = any ('{ended,died,plain}')`,
    ),
  ).toEqual({ ended: [null, null, 1000], died: [null, null, null], plain: [null, null, null] });
  await session.query('reset session authorization');
  await project.run(['grants', '--worker', roles.worker, '--apply']);
  expect(await may()).toEqual(['set_schedule', 'settle', 'settle_and_enqueue']);
});

test('a role that may do more than its kinds, by default privileges, is named', async () => {
  const quiet = ['grants', '--reader', roles.reader, '--apply'];
  expect((await project.run(quiet)).stderr).toBe('');
  await project.client.query(`grant execute on all functions in schema taskq to ${roles.reader};
    grant select on taskq.tasks, taskq.defaults to ${roles.reader}`);
  expect((await project.run(quiet)).stderr).toMatch(
    new RegExp(
      `^role ${roles.reader} may do more than these kinds, .*: call \\d{3} internal functions and use 2 tables; revoke all .*\n$`,
    ),
  );
  await project.client.query(`revoke all on all functions in schema taskq from ${roles.reader};
    revoke all on all tables in schema taskq from ${roles.reader}`);
  expect((await project.run(quiet)).stderr).toBe('');
});

test('--functions grants functions of an application to its workers alone', async () => {
  await project.client.query(`
    create schema comms; create schema "Files"; create schema queues;
    create function comms.send() returns int language sql as 'select 1';
    create function comms.note(text) returns int language sql as 'select 2';
    create function "Files".drop() returns int language sql as 'select 3';
    create function "Files".keep() returns int language sql as 'select 4'`);
  const given = ['--functions', 'comms.*', '--functions', 'Files.drop'];
  expect(await project.run(['grants', '--worker', roles.worker, ...given, '--apply'])).toMatchObject({
    code: 0,
  });
  const may = (role: string) =>
    value<string[]>(
      `select array_agg(proname::text order by proname) from pg_proc p join pg_namespace n on n.oid = pronamespace
       where nspname in ('comms', 'Files') and has_function_privilege($1, p.oid, 'execute')
         and has_schema_privilege('${roles.worker}', n.oid, 'usage')`,
      role,
    );
  expect(await may(roles.worker)).toEqual(['drop', 'keep', 'note', 'send']);
  expect(await may(roles.producer)).toEqual(['keep']);
});

test.each([
  [['--producer', 'public'], '--producer "public": expected the name of a role'],
  [['--functions', 'a.b'], '--functions: give --worker too'],
  [['--worker', 'w', '--functions', 'a'], '--functions "a": expected schema.name or schema.*'],
  [['--worker', 'w', '--functions', 'a.b$$'], '--functions "a.b$$": expected schema.name or schema.*'],
  [['--worker', 'w', '--functions', 'taskq.*'], '--functions "taskq.*": taskq has none of yours'],
  [['--worker', 'w', '--functions', 'public.*'], '--functions "public.*": name them one by one'],
])('%j is refused', async (args, message) => {
  const { code, stderr } = await project.run(['grants', ...args]);
  expect(stderr).toContain(`taskq: ${message}`);
  expect(code).toBe(2);
});

test('a role, a schema or a function that does not exist is named, and nothing is granted', async () => {
  const before = await rights();
  const grants = (...args: string[]) => project.run(['grants', '--apply', ...args]);
  const missing = await grants('--reader', 'nobody-here');
  expect(missing).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('role "nobody-here" does not exist'),
  });
  expect((await grants('--worker', roles.reader, '--functions', 'nowhere.*')).stderr).toContain(
    'schema "nowhere"',
  );
  expect((await grants('--worker', roles.reader, '--functions', 'pub.no')).stderr).toContain(
    'does not exist',
  );
  expect(await rights()).toEqual(before);
});

describe('where the role that migrated is no superuser', () => {
  test('it makes itself a member of the owner if it may create roles, and migrates as before; else it is told what to do', async () => {
    const empty = await emptyDatabase();
    const admin = await empty.client();
    const [dba, app, other] = [`dba_${empty.name}`, `app_${empty.name}`, `other_${empty.name}`];
    const run = (...args: string[]) => {
      const url = empty.directUrl.replace(/\/\/[^@/]*@/, `//${dba}@`);
      return project.run(args, { env: { DATABASE_URL: url, TASKQ_DIRECT_URL: url } });
    };
    try {
      await admin.query(`create role ${dba} login; create role ${app} login; create role ${other} login`);
      await admin.query(`grant create on database ${empty.name} to ${dba}`);
      expect(await run('migrate')).toMatchObject({ code: 0 });
      expect(await run('grants', '--worker', app, '--apply')).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(
          new RegExp(
            `^taskq: role ${dba} may not act as role taskq_owner: .* — as a role that may create and grant roles: .*grant taskq_owner to ${dba}; then run this again\n$`,
          ),
        ),
      });
      await admin.query(`grant taskq_owner to ${dba}`);
      expect(await run('grants', '--worker', app, '--apply')).toMatchObject({
        code: 0,
        stdout: `the schema taskq belongs to taskq_owner, and no longer to ${dba}\n${app} may call 37 functions: worker\n`,
      });
      // Its own right to create a schema is enough: the owner gets what it makes.
      expect(await run('migrate', '--with', 'queues')).toMatchObject({ code: 0 });
      expect(await run('grants', '--worker', app, '--apply')).toMatchObject({
        code: 0,
        stdout: `the schema taskq belongs to taskq_owner\n${app} may call 42 functions: worker\n`,
      });
      const foreign = `
        select n.nspname || '.' || o.name from pg_namespace n join (
          select proname as name, pronamespace as space, proowner as owner from pg_proc
          union all
          select relname, relnamespace, relowner from pg_class
          union all
          select nspname, oid, nspowner from pg_namespace
        ) as o on o.space = n.oid
        where n.nspname in ('taskq', 'queues', 'internal') and o.owner <> 'taskq_owner'::regrole`;
      expect((await admin.query(foreign)).rows).toEqual([]);
      const dequeues =
        "select has_function_privilege($1, 'queues.dequeue_next_available_task()', 'execute') as may";
      expect((await admin.query(dequeues, [app])).rows).toEqual([{ may: true }]);
      await admin.query(`grant execute on function taskq.claim, taskq.settle to ${other}`);
      // As a later release: the schema is to belong to the same role.
      await admin.query('update taskq.release set number = number - 1, objects = objects - $1', ['claim']);
      await admin.query('drop function taskq.claim');
      expect(await run('migrate')).toMatchObject({ code: 0 });
      const { rows } = await admin.query(
        "select proowner::regrole::text as owner from pg_proc where oid = 'taskq.claim'::regproc",
      );
      expect(rows).toEqual([{ owner: 'taskq_owner' }]);
      // And a role that may call all others of its kind may call what it adds.
      const may = "select has_function_privilege($1, 'taskq.claim'::regproc, 'execute') as may";
      expect((await admin.query(may, [app])).rows).toEqual([{ may: true }]);
      expect((await admin.query(may, [other])).rows).toEqual([{ may: false }]);
    } finally {
      await admin.query(
        `drop owned by ${app} cascade; drop role ${app}; drop owned by ${dba} cascade; drop role ${dba}`,
      );
      await empty.drop();
    }
  });
});
