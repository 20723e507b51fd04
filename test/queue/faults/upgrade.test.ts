import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import type { Blocker } from '../../../src/queue/schema/blockers.ts';
import { migrate } from '../../../src/queue/schema/migrate.ts';
import { SQL } from '../../../src/queue/schema/schema-release.ts';
import { createTestDatabase, type TestDatabase } from '../../support/database.ts';
import { knowTypes } from '../../support/know-types.ts';
import { killStartedTaskqs, startTaskq } from '../../support/start-taskq.ts';
import { enqueue, makeDue, statusOf } from '../rows.ts';
import { type Session, sessionOf } from '../session.ts';
import { waitUntil } from '../waiting.ts';
import { claimOne, outcome, registerWorker } from '../worker.ts';
import { describeSchema, functionOf, releaseWith, startMigrator, stopAt } from './migrators.ts';

/** A release after this one: a migration more, a function more, and the view is another. */
let newer: string;
/** The same, but the view stays as it is. */
let newerWithoutView: string;

beforeAll(async () => {
  newer = await makeNewer({ withView: 'yes' });
  newerWithoutView = await makeNewer({ withView: 'no' });
});

async function makeNewer({ withView }: { withView: 'yes' | 'no' }): Promise<string> {
  const sql = await mkdtemp(join(inject('scratchDirectory'), 'sql-'));
  await cp(SQL, sql, { recursive: true });
  const release = JSON.parse(await readFile(join(sql, 'release.json'), 'utf8'));
  await writeFile(join(sql, 'release.json'), JSON.stringify({ ...release, number: release.number + 1 }));
  await writeFile(
    join(sql, 'migrations', '3_add-colour.sql'),
    // Of a table that the view does not read.
    'alter table taskq.rescue_scan add column colour text;',
  );
  await writeFile(
    join(sql, 'functions', 'internal', 'colour_of.sql'),
    `-- The colour of a scan.
create or replace function taskq.colour_of(_name text) returns text language sql security definer
set search_path = pg_catalog, taskq, pg_temp as $$ select s.colour from taskq.rescue_scan s where s.colour = _name $$;`,
  );
  const view = join(sql, 'functions', 'api', 'all_tasks.sql');
  if (withView === 'yes') await writeFile(view, `-- Another one.\n${await readFile(view, 'utf8')}`);
  return sql;
}

let database: TestDatabase;
let admin: Session;

beforeEach(async () => {
  database = await createTestDatabase();
  admin = sessionOf(await database.client());
  await knowTypes(admin.client, 'work');
});
afterEach(killStartedTaskqs);
afterEach(() => database.drop());

/** A transaction that has read all tasks, and stays open. */
async function openReader(): Promise<Session> {
  const reader = sessionOf(await database.client());
  await reader.rows("set application_name = 'report'");
  await reader.rows('begin isolation level repeatable read');
  await reader.rows('select * from taskq.all_tasks');
  return reader;
}

/** Whether the parts of the newer release are there: all, or none. */
async function isNewer(): Promise<boolean> {
  const parts = await admin.row<Record<string, boolean>>(
    `select exists (select from pg_attribute where attrelid = 'taskq.rescue_scan'::regclass and attname = 'colour') as column,
       to_regprocedure('taskq.colour_of(text)') is not null as function,
       (select max(id) = 3 from taskq.migrations) as migration,
       (select number = $1 + 1 from taskq.release) as number`,
    JSON.parse(await readFile(join(SQL, 'release.json'), 'utf8')).number,
  );
  const there = Object.values(parts!);
  expect(new Set(there).size, JSON.stringify(parts)).toBe(1);
  return there[0]!;
}

test('a release waits for an open reader of all_tasks, names it, and blocks no other session meanwhile', async () => {
  const reader = await openReader();
  const seen: (readonly Blocker[])[] = [];
  const migrated = migrate({
    databaseUrl: database.directUrl,
    sql: newer,
    onBlocked: (by) => void seen.push(by),
  });
  await waitUntil(async () => seen.length > 0, 'it does not say whom it waits for');
  const pid = await reader.value<number>('select pg_backend_pid()');
  expect(seen[0]).toMatchObject([{ pid, application: 'report', since: expect.stringMatching(/^20.*Z$/) }]);

  const others = sessionOf(await database.client());
  await others.rows("set statement_timeout = '20s'");
  const worker = await registerWorker(others);
  for (let round = 0; round < 3; round++) {
    const id = await enqueue(others);
    expect(await worker.settle(outcome(await claimOne(worker), 'completed'))).toMatchObject([
      { answer: 'recorded' },
    ]);
    expect(await statusOf(others, id)).toBe('completed');
    expect(await isNewer()).toBe(false);
  }
  await reader.rows('commit');
  expect((await migrated).newlyApplied.map(({ step }) => step)).toEqual(['migration', 'functions']);
  expect(await isNewer()).toBe(true);
  for (const by of seen) expect(by.map((blocker) => blocker.pid)).toContain(pid);
});

test('it gives up when its time is over, names the reader, and has changed nothing', async () => {
  const before = await describeSchema(admin);
  const reader = await openReader();
  const pid = await reader.value<number>('select pg_backend_pid()');
  const given = migrate({ databaseUrl: database.directUrl, sql: newer, patienceMs: 2000 });
  await expect(given).rejects.toMatchObject({
    code: 'schema_in_use',
    exitCode: 1,
    message: expect.stringMatching(
      new RegExp(`^nothing was changed: .* session ${pid} \\(report of postgres, in a transaction since 20`),
    ),
    hint: expect.stringContaining(`select pg_terminate_backend(${pid})`),
  });
  expect(await describeSchema(admin)).toEqual(before);
  await reader.rows('commit');
  await migrate({ databaseUrl: database.directUrl, sql: newer });
  expect(await isNewer()).toBe(true);
});

test('it gives up as well where a stranger holds the lock of migrations, and names him', async () => {
  const stranger = sessionOf(await database.client());
  await stranger.rows("set application_name = 'stranger'");
  await stranger.rows("select pg_advisory_lock(hashtext('taskq.migrate'))");
  const pid = await stranger.value<number>('select pg_backend_pid()');
  await expect(
    migrate({ databaseUrl: database.directUrl, sql: newer, patienceMs: 2000 }),
  ).rejects.toMatchObject({
    code: 'schema_in_use',
    exitCode: 1,
    message: expect.stringContaining(`session ${pid} (stranger of postgres`),
  });
  expect(await isNewer()).toBe(false);
  await stranger.rows('select pg_advisory_unlock_all()');
  await migrate({ databaseUrl: database.directUrl, sql: newer });
  expect(await isNewer()).toBe(true);
});

test('a release that leaves the view as it is waits for no reader of it', async () => {
  const reader = await openReader();
  await migrate({ databaseUrl: database.directUrl, sql: newerWithoutView, patienceMs: 0 });
  expect(await isNewer()).toBe(true);
  await reader.rows('commit');
});

test.each(['ALTER TABLE', 'CREATE VIEW', 'CREATE FUNCTION', 'REVOKE'])(
  'a migrator that is killed at %s leaves the release before, and the next one makes the newer',
  async (step) => {
    const before = await describeSchema(admin);
    const stop = await stopAt(admin, step);
    const migrator = startMigrator(database.directUrl, newer);
    await stop.reached();
    expect(await isNewer()).toBe(false);
    migrator.kill();
    await migrator.end;
    await stop.lift();
    expect(await describeSchema(admin)).toEqual(before);
    await migrate({ databaseUrl: database.directUrl, sql: newer });
    expect(await isNewer()).toBe(true);
  },
);

describe('what another release has otherwise', () => {
  const first = {
    removed: functionOf('removed(_n integer) returns integer', 'select _n'),
    longer: functionOf('longer(_n integer) returns integer', 'select _n'),
    typed: functionOf('typed(_n integer) returns integer', 'select _n'),
    renamed: functionOf('renamed(_n integer, _m integer default 1) returns integer', 'select _n'),
    colours: '-- Of a test.\ncreate or replace view taskq.colours as select 1 as red, 2 as green;',
    shades: '-- Of a test.\ncreate or replace view taskq.shades as select 1 as dark;',
  };
  const second = {
    longer: functionOf('longer(_n integer, _m integer default 2) returns integer', 'select _n + _m'),
    typed: functionOf('typed(_n integer) returns text', "select 'number ' || _n"),
    renamed: functionOf('renamed(_of integer, _m integer) returns integer', 'select _of + _m'),
    colours: "-- Of a test.\ncreate or replace view taskq.colours as select 'two'::text as green;",
  };

  test('takes the place of what was there, keeps what roles were granted, and leaves nothing behind', async () => {
    const role = `painter_${database.name}`;
    await migrate({ databaseUrl: database.directUrl, sql: await releaseWith(1, first) });
    await admin.rows(`create role "${role}"`);
    await admin.rows(`grant usage on schema taskq to "${role}"`);
    await admin.rows(
      `grant execute on function taskq.longer, taskq.typed, taskq.renamed, taskq.removed to "${role}"`,
    );
    await admin.rows(`grant select on taskq.colours to "${role}" with grant option`);
    try {
      await migrate({ databaseUrl: database.directUrl, sql: await releaseWith(2, second) });
      expect(
        await admin.rows(
          `select p.oid::regprocedure::text as signature, not exists (select from aclexplode(p.proacl) as a where a.grantee = 0) as private
           from pg_proc p
           where pronamespace = 'taskq'::regnamespace and proname in ('removed', 'longer', 'typed', 'renamed')
           order by 1`,
        ),
      ).toEqual([
        { signature: 'taskq.longer(integer,integer)', private: true },
        { signature: 'taskq.renamed(integer,integer)', private: true },
        { signature: 'taskq.typed(integer)', private: true },
      ]);
      expect(await admin.value("select to_regclass('taskq.shades')")).toBeNull();
      await admin.rows(`set role "${role}"`);
      expect(
        await admin.row(
          'select taskq.longer(1), taskq.typed(1), taskq.renamed(1, 1), green from taskq.colours',
        ),
      ).toEqual({ longer: 3, typed: 'number 1', renamed: 2, green: 'two' });
    } finally {
      await admin.rows('reset role');
      await admin.rows(`drop owned by "${role}"`);
      await admin.rows(`drop role "${role}"`);
    }
  });

  describe('of the objects that are not its own', () => {
    const [painter, guest] = ['painter', 'guest'];
    const roles = () => [painter, guest].map((role) => `${role}_${database.name}`) as [string, string];

    beforeEach(async () => {
      await migrate({ databaseUrl: database.directUrl, sql: await releaseWith(1, first) });
      for (const role of roles()) await admin.rows(`create role "${role}"`);
    });
    afterEach(async () => {
      for (const role of roles()) {
        await admin.rows(`drop owned by "${role}" cascade`);
        await admin.rows(`drop role "${role}"`);
      }
    });

    test.each([
      ['function', 'longer(text)', "create function taskq.longer(text) returns text return 'mine'"],
      ['function', 'fresh(integer)', 'create function taskq.fresh(_n integer) returns integer return 0'],
      ['view', 'scenes', 'create view taskq.scenes as select 1 as mine'],
      ['table', 'scenes', 'create table taskq.scenes (mine integer)'],
    ])('one in its way is refused, and nothing is changed: %s %s', async (kind, name, create) => {
      await admin.rows(create);
      const before = await describeSchema(admin);
      const sql = await releaseWith(2, {
        ...second,
        fresh: functionOf('fresh(_n integer) returns integer', 'select _n'),
        scenes: '-- Of a test.\ncreate or replace view taskq.scenes as select 1 as ours;',
      });
      for (const options of [{}, { dryRun: true }] as const)
        await expect(migrate({ databaseUrl: database.directUrl, sql, ...options })).rejects.toMatchObject({
          code: 'schema_occupied',
          message: `nothing was changed: ${kind} taskq.${name} is not taskq's, and this release has a function or view of that name`,
          hint: `rename it and migrate again: alter ${kind} taskq.${name} rename to …`,
        });
      expect(await describeSchema(admin)).toEqual(before);
      await admin.rows(`alter ${kind} taskq.${name} rename to mine`);
      await migrate({ databaseUrl: database.directUrl, sql });
    });

    test('the others stay as they are, even under the name of one that it drops, with their grants', async () => {
      const [role] = roles();
      await admin.client.query(`
        create function taskq.removed(text) returns text return 'mine';
        create view taskq.sketches as select 1 as mine;
        grant execute on function taskq.removed(text) to "${role}", public;
        grant select on taskq.sketches to public;
      `);
      const mine = `select p.oid, p.proacl::text as acl from pg_proc p where p.oid = 'taskq.removed(text)'::regprocedure
        union all select c.oid, c.relacl::text from pg_class c where c.oid = 'taskq.sketches'::regclass`;
      const before = await admin.rows(mine);
      await migrate({ databaseUrl: database.directUrl, sql: await releaseWith(2, second) });
      expect(await admin.rows(mine)).toEqual(before);
      expect(await admin.value("select to_regprocedure('taskq.removed(integer)')")).toBeNull();
    });

    test('a replaced one keeps exactly its grants: by column, with grant option, to PUBLIC', async () => {
      const [role, other] = roles();
      await admin.client.query(`
        grant execute on function taskq.longer(integer) to "${other}" with grant option;
        grant execute on function taskq.typed(integer) to public;
        grant select (green), select (red), update (green) on taskq.colours to "${other}" with grant option;
        grant insert on taskq.colours to "${role}";
        alter default privileges in schema taskq grant execute on functions to "${role}";
        alter default privileges in schema taskq grant select on tables to "${other}", public;
      `);
      await migrate({ databaseUrl: database.directUrl, sql: await releaseWith(2, second) });
      const acl = await admin.rows<{ grant: string }>(
        `select format('%s %s to %s%s of %s', a.privilege_type, o.name, case a.grantee when 0 then 'PUBLIC' else a.grantee::regrole::text end,
           case when a.is_grantable then ' with grant option' end, o.owner::regrole) as grant
         from (
           select proname as name, proacl as acl, proowner as owner from pg_proc
           where pronamespace = 'taskq'::regnamespace and proname in ('longer', 'typed', 'renamed')
           union all
           select relname, relacl, relowner from pg_class where oid = 'taskq.colours'::regclass
           union all
           select 'colours.' || attname, attacl, relowner from pg_attribute join pg_class c on c.oid = attrelid
           where attrelid = 'taskq.colours'::regclass
         ) as o
         cross join aclexplode(o.acl) as a
         where a.grantee <> o.owner
         order by 1`,
      );
      const owner = await admin.value('select current_user');
      expect(acl.map((row) => row.grant)).toEqual([
        `EXECUTE longer to ${other} with grant option of ${owner}`,
        `EXECUTE typed to PUBLIC of ${owner}`,
        `INSERT colours to ${role} of ${owner}`,
        `SELECT colours.green to ${other} with grant option of ${owner}`,
        `UPDATE colours.green to ${other} with grant option of ${owner}`,
      ]);
    });
  });

  test('and that others have built upon is named, and nothing is changed', async () => {
    await migrate({ databaseUrl: database.directUrl, sql: await releaseWith(1, first) });
    await admin.rows('create view public.report as select red from taskq.colours');
    const before = await describeSchema(admin);
    const next = await releaseWith(2, second);
    await expect(migrate({ databaseUrl: database.directUrl, sql: next })).rejects.toMatchObject({
      code: 'schema_depended_on',
      message: expect.stringContaining('view public.report depends on view taskq.colours'),
      hint: 'drop that, migrate, and make it again',
    });
    expect(await describeSchema(admin)).toEqual(before);
    await admin.rows('drop view public.report');
    await migrate({ databaseUrl: database.directUrl, sql: next });
  });
});

test('a schema that other migrations have made is refused, whatever is due', async () => {
  await admin.rows("update taskq.migrations set hash = 'another' where id = 2");
  await expect(migrate({ databaseUrl: database.directUrl, sql: newer })).rejects.toMatchObject({
    code: 'schema_differs',
    exitCode: 3,
    message: expect.stringContaining('2_create-settings.sql'),
  });
  expect(await isNewer()).toBe(false);
});

test('workflows, schedules and a worker of the release before go on while it is upgraded', async () => {
  await admin.rows("select taskq.set_schedule('often', '@every 1s', 'work', '{}', '{\"missed\": \"all\"}')");
  const handlers = await mkdtemp(join(inject('scratchDirectory'), 'handlers-'));
  await writeFile(join(handlers, 'work.mjs'), 'export default () => {};');
  const worker = startTaskq(['work', '--handlers', handlers, '--poll', '100ms'], {
    env: { DATABASE_URL: database.url },
  });
  await worker.waitForLog(({ event }) => event === 'worker.started');
  const steps = Array.from({ length: 40 }, (_, n) => ({
    ...{ step: `s${n}`, type: 'work' },
    ...(n > 0 && { after: [`s${n - 1}`] }),
    ...(n === 1 && { delay_ms: 3_600_000 }),
  }));
  const id = await admin.value('select id from taskq.run_workflow($1)', { name: 'chain', steps });
  const ended = (least: number) => async () =>
    Number(await admin.value("select count(*) from taskq.workflow_steps where status = 'completed'")) >=
    least;
  await waitUntil(ended(1), 'no step ends');

  await migrate({ databaseUrl: database.directUrl, sql: newer });
  expect(await isNewer()).toBe(true);
  const second = await admin.value<string>("select task_id from taskq.workflow_steps where step = 's1'");
  const goesOn = async () => {
    // Again where it was released, and delayed, only now.
    await makeDue(admin, [second]);
    return ended(steps.length)();
  };
  await waitUntil(goesOn, 'the workflow does not go on');
  const state = () => admin.value('select state from taskq.workflows where id = $1', id);
  await waitUntil(async () => (await state()) === 'completed', 'the workflow does not end');
  const ticks = "select count(*)::int from taskq.all_tasks where source like 'schedule:often@%'";
  const fired = await admin.value<number>(ticks);
  await waitUntil(async () => (await admin.value<number>(ticks)) > fired, 'the schedule does not go on');
  worker.kill('SIGTERM');
  expect(await worker.exit).toMatchObject({ code: 0 });
  // Each tick from the first to the last has one task.
  expect(
    await admin.row(
      `select count(*) = count(distinct source) and count(*) = extract(epoch from max(at) - min(at)) + 1 as each
       from (
         select source, split_part(source, '@', 2)::timestamptz as at from taskq.all_tasks where source like 'schedule:%'
       ) as t`,
    ),
  ).toEqual({ each: true });
});
