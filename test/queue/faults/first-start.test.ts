import { afterEach, beforeAll, expect, test } from 'vitest';
import { migrate } from '../../../src/queue/schema/migrate.ts';
import { emptyDatabase, type TestDatabase } from '../../support/database.ts';
import { knowTypes } from '../../support/know-types.ts';
import { type Session, sessionOf } from '../session.ts';
import { describeSchema, startMigrator, stopAt } from './migrators.ts';

const ROUNDS = Number(process.env.TASKQ_ROUNDS ?? 1);
const PROCESSES = 8;

const made: TestDatabase[] = [];

afterEach(() => Promise.all(made.splice(0).map((database) => database.drop())));

async function keep(database: Promise<TestDatabase>): Promise<{ database: TestDatabase; admin: Session }> {
  const it = await database;
  made.push(it);
  return { database: it, admin: sessionOf(await it.client()) };
}

let whole: string[];

beforeAll(async () => {
  // Not of the template, which may be of yesterday and lack a partition.
  const { database, admin } = await keep(emptyDatabase());
  await migrate({ databaseUrl: database.directUrl });
  whole = await describeSchema(admin);
  made.splice(0);
  await database.drop();
});

async function expectWhole(admin: Session): Promise<void> {
  expect(await describeSchema(admin)).toEqual(whole);
  // No partition is missing, or after midnight those of a day.
  expect(await admin.value('select taskq.ensure_partitions()')).toBeLessThanOrEqual(2);
  await knowTypes(admin.client, 'work');
  expect(await admin.value("select id from taskq.enqueue('work')")).toBe('1');
}

test(`${PROCESSES} processes that migrate an empty database at once all succeed, and one of them creates the schema (${ROUNDS} rounds)`, async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { database, admin } = await keep(emptyDatabase());
    const migrators = Array.from({ length: PROCESSES }, () => startMigrator(database.url));
    const ends = await Promise.all(migrators.map((migrator) => migrator.end));
    expect(ends.map((end) => [end.code, end.stderr])).toEqual(ends.map(() => [0, '']));
    const steps = ends.flatMap((end) => end.steps).map((step) => step.name);
    expect(steps).toEqual([...new Set(steps)]);
    expect(steps.length).toBeGreaterThanOrEqual(4);
    expect(ends.filter((end) => end.steps.length > 0)).toHaveLength(1);
    await expectWhole(admin);
    await Promise.all(made.splice(0).map((it) => it.drop()));
  }
}, 600_000);

/** What a migrator makes first, in the middle of its one transaction, and last. */
const STEPS = ['CREATE SCHEMA', 'CREATE FUNCTION', 'ALTER TABLE'];

test('a migrator that is killed leaves no lock and no partial schema, and the next one creates all of it', async () => {
  for (const step of STEPS) {
    const { database, admin } = await keep(emptyDatabase());
    const stop = await stopAt(admin, step);
    const migrator = startMigrator(database.url);
    await stop.reached();
    migrator.kill();
    await migrator.end;
    await stop.lift();
    expect(await admin.value("select to_regnamespace('taskq')")).toBeNull();
    const { steps, newlyApplied } = await migrate({ databaseUrl: database.url });
    expect(newlyApplied).toEqual(steps);
    await expectWhole(admin);
    expect((await migrate({ databaseUrl: database.url })).newlyApplied).toEqual([]);
  }
});

test('a migrator that is killed at any moment leaves a database that the next one migrates completely', async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const { database, admin } = await keep(emptyDatabase());
    const migrator = startMigrator(database.url);
    await migrator.ready;
    setTimeout(migrator.kill, Math.random() * 500);
    await migrator.end;
    await migrate({ databaseUrl: database.url });
    await expectWhole(admin);
  }
}, 600_000);
