import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type MigrateOptions, migrate } from '../../../src/queue/schema/migrate.ts';
import { cloneOf, emptyDatabase, type TestDatabase } from '../../support/database.ts';
import { type Session, sessionOf } from '../session.ts';
import { describeSchema, functionOf, releaseWith } from './migrators.ts';

describe('what a release adds and replaces belongs to the owner of the schema, whoever upgrades', () => {
  const plain = functionOf('painted() returns bigint', 'select 0::bigint');
  let release: string;
  let next: string;
  let migrated: TestDatabase;
  let shared: TestDatabase;
  let superuser: Session;
  let owner: string;
  let caller: string;
  let deployer: string;

  // What the tests begin with is made once: to migrate costs twenty times what a clone does.
  beforeAll(async () => {
    release = await releaseWith(1, { painted: plain });
    next = await releaseWith(2, {
      painted: functionOf('painted() returns bigint', 'select taskq.paint_count()'),
      paint_count: functionOf('paint_count() returns bigint', 'select count(*) from taskq.paints'),
      paint_names:
        '-- Of a test.\ncreate or replace view taskq.paint_names as select name from taskq.paints;',
    });
    await writeFile(
      join(next, 'migrations', '3_create-paints.sql'),
      'create table taskq.paints (id bigint generated always as identity, name text);',
    );
    migrated = await emptyDatabase();
    [owner, caller] = [`owner_${migrated.name}`, `caller_${migrated.name}`];
    superuser = sessionOf(await migrated.client());
    for (const role of [owner, caller]) await makeRole(role);
    await ownerMigrates(migrated);
    // A database with a session in it cannot be cloned.
    await superuser.client.end();
  });
  afterAll(async () => {
    superuser = sessionOf(await migrated.client());
    for (const role of [owner, caller]) await dropRole(role);
    await migrated.drop();
  });

  afterEach(async () => {
    await superuser.rows('reset role');
    for (const role of [owner, caller]) await superuser.client.query(`drop owned by ${role} cascade`);
    await dropRole(deployer);
    await shared.drop();
  });

  /** A test's own database, and its deployer. */
  async function begin(database: Promise<TestDatabase>): Promise<void> {
    shared = await database;
    superuser = sessionOf(await shared.client());
    deployer = `deployer_${shared.name}`;
    await makeRole(deployer);
  }

  const makeRole = (role: string) => superuser.rows(`create role ${role} login noinherit`);
  const dropRole = (role: string) =>
    superuser.client.query(`drop owned by ${role} cascade; drop role ${role}`);

  const migrateIn = (database: TestDatabase, role: string, options: Partial<MigrateOptions>) =>
    migrate({ databaseUrl: database.directUrl.replace(/\/\/[^@/]*@/, `//${role}@`), ...options });
  const migrateAs = (role: string, sql: string, options: Partial<MigrateOptions> = {}) =>
    migrateIn(shared, role, { sql, ...options });

  /** The owner migrates the release before, into a schema that somebody made, or into none. */
  async function ownerMigrates(
    database: TestDatabase,
    prepare = `grant create on database ${database.name} to ${owner}`,
  ): Promise<void> {
    await superuser.client.query(prepare);
    await migrateIn(database, owner, { sql: release });
    await superuser.client.query(`
      grant usage on schema taskq to ${caller};
      set role ${owner};
      grant execute on all functions in schema taskq to ${caller};
      alter default privileges in schema taskq grant execute on functions to ${caller};
      reset role;
    `);
  }

  /** The same, into none, as it was done once. */
  const ownerHasMigrated = () => begin(cloneOf(migrated));

  async function ownerMigratesInto(prepare: () => string): Promise<void> {
    await begin(emptyDatabase());
    await ownerMigrates(shared, prepare());
  }

  const administratorsSchema = () => `create schema taskq; grant usage, create on schema taskq to ${owner}`;

  async function expectUpgraded(): Promise<void> {
    const others = `
      select oid::regprocedure::text from pg_proc
      where pronamespace = 'taskq'::regnamespace and proowner <> '${owner}'::regrole
      union all
      select oid::regclass::text from pg_class
      where relnamespace = 'taskq'::regnamespace and relowner <> '${owner}'::regrole`;
    expect(await superuser.rows(others)).toEqual([]);
    for (const role of [owner, caller]) {
      await superuser.rows(`set role ${role}`);
      // Of the release before, with a new body; and new, granted by the owner's default privileges.
      expect(await superuser.row('select taskq.painted(), taskq.paint_count()')).toEqual({
        painted: '0',
        paint_count: '0',
      });
      await superuser.rows('reset role');
    }
  }

  test.each([
    ['into a database', ownerHasMigrated],
    ['into a schema of its own', () => ownerMigratesInto(() => `create schema taskq authorization ${owner}`)],
    ['into a schema of an administrator', () => ownerMigratesInto(administratorsSchema)],
  ])('a superuser, where the owner had migrated %s', async (_, hasMigrated) => {
    await hasMigrated();
    await migrateAs('postgres', next, { dryRun: true });
    await migrateAs('postgres', next);
    await expectUpgraded();
  });

  test('a role that may act as the owner, and has none of its rights otherwise', async () => {
    await ownerHasMigrated();
    await superuser.rows(`grant ${owner} to ${deployer}`);
    await migrateAs(deployer, next);
    await expectUpgraded();
  });

  test('a role that may not act as the owner is refused, and told what to do', async () => {
    await ownerHasMigrated();
    const isAfter15 = await superuser.value<boolean>(
      "select current_setting('server_version_num')::integer >= 160000",
    );
    await superuser.client.query(
      `grant usage, create on schema taskq to ${deployer}; grant select on all tables in schema taskq to ${deployer};
       ${isAfter15 ? `grant ${owner} to ${deployer} with inherit true, set false` : ''}`,
    );
    const before = await describeSchema(superuser);
    const grant = `grant ${owner} to ${deployer}${isAfter15 ? ' with set true' : ''}`;
    await expect(migrateAs(deployer, next)).rejects.toMatchObject({
      code: 'may_not_migrate',
      message: `nothing was changed: role ${deployer} may not act as role ${owner}, which owns the schema taskq`,
      hint: expect.stringMatching(`^run taskq migrate as ${owner}, or first: ${grant};`),
    });
    expect(await describeSchema(superuser)).toEqual(before);
    const { steps } = await migrateAs(deployer, next, { dryRun: true });
    expect(steps.filter(({ applied }) => !applied)).toHaveLength(2);
    await superuser.rows(grant);
    await migrateAs(deployer, next);
    await expectUpgraded();
  });

  test('an owner that may no longer create in the schema is told so', async () => {
    await ownerMigratesInto(administratorsSchema);
    await superuser.rows(`revoke create on schema taskq from ${owner}`);
    const before = await describeSchema(superuser);
    for (const role of [owner, 'postgres']) {
      await expect(migrateAs(role, next)).rejects.toMatchObject({
        code: 'may_not_migrate',
        message: expect.stringMatching(`^role ${owner} may not create objects in the schema taskq`),
        hint: `as postgres, the owner of the schema: grant usage, create on schema taskq to ${owner}`,
      });
    }
    expect(await describeSchema(superuser)).toEqual(before);
  });

  describe('where another role owns one of its functions', () => {
    beforeEach(async () => {
      await ownerHasMigrated();
      await superuser.rows('alter function taskq.painted() owner to postgres');
    });

    test('a superuser gives it back to the owner of the schema', async () => {
      await migrateAs('postgres', next);
      await expectUpgraded();
    });

    test('a role that may not is told how, and nothing is changed', async () => {
      const before = await describeSchema(superuser);
      const give = `alter function taskq.painted() owner to ${owner}`;
      await expect(migrateAs(owner, next)).rejects.toMatchObject({
        code: 'may_not_migrate',
        message: `nothing was changed: function taskq.painted() belongs to role postgres, and the schema taskq to role ${owner}`,
        hint: `run taskq migrate as a superuser, or first, as one: ${give}`,
      });
      expect(await describeSchema(superuser)).toEqual(before);
      await superuser.rows(give);
      await migrateAs(owner, next);
      await expectUpgraded();
    });
  });
});
