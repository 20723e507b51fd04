import { randomBytes } from 'node:crypto';
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, inject, test } from 'vitest';
import { migrate } from '../../../src/queue/schema/migrate.ts';
import { SQL } from '../../../src/queue/schema/schema-release.ts';
import { createTestDatabase, emptyDatabase, type TestDatabase } from '../../support/database.ts';
import { type Session, sessionOf } from '../session.ts';
import { describeSchema } from './migrators.ts';

let database: TestDatabase;
let admin: Session;

beforeEach(async () => {
  database = await createTestDatabase();
  admin = sessionOf(await database.client());
});
afterEach(() => database.drop());

const install = (sql?: string) =>
  migrate({ databaseUrl: database.directUrl, with: ['queues'], ...(sql !== undefined && { sql }) });

const objects = () =>
  admin.rows(
    `select p.oid::regprocedure::text as name, p.proacl::text as rights from pg_proc p
     where p.pronamespace in (to_regnamespace('queues'), to_regnamespace('internal'))
     union all
     select c.oid::regclass::text, c.relacl::text from pg_class c where c.relnamespace = to_regnamespace('queues')
     order by 1`,
  );

/** A later release, without one of the functions, with another one, and with another text of a third. */
async function makeNewer(): Promise<string> {
  const sql = await mkdtemp(join(inject('scratchDirectory'), 'sql-'));
  await cp(SQL, sql, { recursive: true });
  const release = JSON.parse(await readFile(join(sql, 'release.json'), 'utf8'));
  await writeFile(join(sql, 'release.json'), JSON.stringify({ ...release, number: release.number + 1 }));
  const schema = join(sql, 'with', 'queues', 'queues');
  await rm(join(schema, 'fail_task.sql'));
  await writeFile(
    join(schema, 'colour.sql'),
    "-- A colour.\ncreate or replace function queues.colour() returns text language sql as $$ select 'red' $$;",
  );
  const view = join(schema, 'task.sql');
  await writeFile(view, `-- Another one.\n${await readFile(view, 'utf8')}`);
  return sql;
}

test('a new database gets the schema and the addition in one call', async () => {
  const empty = await emptyDatabase();
  try {
    const { newlyApplied } = await migrate({ databaseUrl: empty.directUrl, with: ['queues'] });
    expect(newlyApplied.at(-1)).toEqual({ step: 'addition', name: 'queues', applied: true });
    const session = sessionOf(await empty.client());
    await session.rows("select queues.enqueue('sms', '{}')");
    expect(await session.value('select task_type from queues.dequeue_next_available_task()')).toBe('sms');
  } finally {
    await empty.drop();
  }
});

test('nothing of it is open to everybody, and nothing of it exists where nobody asked for it', async () => {
  await migrate({ databaseUrl: database.directUrl });
  expect(await objects()).toEqual([]);
  await install();
  expect((await objects()).length).toBe(10);
  for (const { name, rights } of (await objects()) as { name: string; rights: string }[])
    expect(rights, name).not.toMatch(/[{,]=/);
});

test('a later release changes it with the rest, and passes on what was granted', async () => {
  await install();
  await admin.rows('grant select on queues.task to public');
  await migrate({ databaseUrl: database.directUrl, sql: await makeNewer() });
  const names = ((await objects()) as { name: string; rights: string }[]).map(({ name }) => name);
  expect(names).toContain('queues.colour()');
  expect(names).not.toContain('queues.fail_task(bigint,text)');
  expect(await admin.value("select has_table_privilege('public', 'queues.task', 'select')")).toBe(true);
});

test.each([
  ['create schema internal', 'schema internal'],
  ['create schema queues; create table queues.task (id int)', 'schema queues'],
])('what is in the way is named, and nothing is changed: %s', async (statement, named) => {
  await admin.client.query(statement);
  const before = await describeSchema(admin);
  await expect(install()).rejects.toMatchObject({
    code: 'schema_occupied',
    message: expect.stringContaining(named),
    hint: expect.stringContaining(`alter ${named} rename to`),
  });
  expect(await describeSchema(admin)).toEqual(before);
  expect(await admin.value('select count(*)::int from taskq.queues')).toBe(0);
});

test("a function of somebody else's that a later release needs is named, and nothing is changed", async () => {
  await install();
  await admin.rows("create function queues.colour(_of text) returns text language sql as 'select _of'");
  await expect(migrate({ databaseUrl: database.directUrl, sql: await makeNewer() })).rejects.toMatchObject({
    code: 'schema_occupied',
    message: expect.stringContaining('queues.colour(text)'),
  });
  expect(await admin.value("select to_regprocedure('queues.fail_task(bigint,text)') is not null")).toBe(true);
});

test('its schemas belong to the owner of the release, also where only the role that migrates may create them', async () => {
  const owner = `owner_${randomBytes(4).toString('hex')}`;
  await admin.client.query(`
    create role ${owner};
    do $$ declare one text; begin
      for one in
        select 'alter ' || case relkind when 'v' then 'view ' else 'table ' end || oid::regclass
        from pg_class where relnamespace = 'taskq'::regnamespace and relkind in ('r', 'p', 'v')
        union all
        select 'alter routine ' || oid::regprocedure from pg_proc where pronamespace = 'taskq'::regnamespace
        union all
        select 'alter schema taskq'
      loop execute one || ' owner to ${owner}'; end loop;
    end $$;`);
  await install();
  expect(
    await admin.rows(
      "select nspname as name, nspowner::regrole::text as owner from pg_namespace where nspname in ('queues', 'internal') order by 1",
    ),
  ).toEqual([
    { name: 'internal', owner },
    { name: 'queues', owner },
  ]);
  await admin.rows("select queues.enqueue('sms', '{}')");
  expect(await admin.value('select task_type from queues.dequeue_next_available_task()')).toBe('sms');
  await admin.client.query(
    `reassign owned by ${owner} to current_user; drop owned by ${owner}; drop role ${owner};`,
  );
});

test('to drop its schema removes it: releases leave it so, until somebody asks for it again', async () => {
  await install();
  await admin.rows(`select taskq.set_queue('queues', '{"retention": "30d"}')`);
  await admin.rows('drop schema queues cascade');
  const newer = await makeNewer();
  await migrate({ databaseUrl: database.directUrl, sql: newer });
  expect(await admin.value("select to_regnamespace('queues') is null")).toBe(true);
  await install(newer);
  expect(await admin.value('select queues.colour()')).toBe('red');
  expect(await admin.row("select retention, max_losses from taskq.queues where name = 'queues'")).toEqual({
    retention: '30d',
    max_losses: 2147483647,
  });
});
