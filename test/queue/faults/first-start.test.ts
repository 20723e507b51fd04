import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { type MigrationStep, migrate } from '../../../src/queue/migrate.ts';
import { emptyDatabase, type TestDatabase } from '../../support/database.ts';
import { knowTypes } from '../../support/know-types.ts';
import { type Session, sessionOf } from '../session.ts';
import { waitUntil } from '../waiting.ts';

const ROUNDS = Number(process.env.TASKQ_ROUNDS ?? 5);
const PROCESSES = 20;

const BUILT = fileURLToPath(new URL('../../../dist/queue/migrate.js', import.meta.url));

/** Says `ready`, migrates, and prints the steps that it made itself. */
const PROGRAM = `
  const { migrate } = await import(${JSON.stringify(BUILT)});
  process.stdout.write('ready\\n');
  const { newlyApplied } = await migrate({ databaseUrl: process.env.DATABASE_URL });
  process.stdout.write(JSON.stringify(newlyApplied));
`;

interface Migrator {
  /** Resolved when it has loaded everything and begins. */
  readonly ready: Promise<unknown>;
  kill(): void;
  readonly end: Promise<{ code: number | null; steps: MigrationStep[]; stderr: string }>;
}

function startMigrator(databaseUrl: string): Migrator {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    env: { ...process.env, DATABASE_URL: databaseUrl },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      said[stream] += text;
    });
  }
  const ended = once(child, 'close').then(() => ({
    code: child.exitCode,
    steps: JSON.parse(said.stdout.replace('ready\n', '') || '[]') as MigrationStep[],
    stderr: said.stderr,
  }));
  return {
    ready: Promise.race([once(child.stdout, 'data'), ended]),
    kill: () => void child.kill('SIGKILL'),
    end: ended,
  };
}

const made: TestDatabase[] = [];

afterEach(() => Promise.all(made.splice(0).map((database) => database.drop())));

async function keep(database: Promise<TestDatabase>): Promise<{ database: TestDatabase; admin: Session }> {
  const it = await database;
  made.push(it);
  return { database: it, admin: sessionOf(await it.client()) };
}

/** Everything the schema consists of, as lines; a partition of one day is as good as one of the next. */
async function describeSchema(admin: Session): Promise<string[]> {
  const rows = await admin.rows<{ line: string }>(
    `select distinct regexp_replace(line, '_[0-9]{8}', '_day', 'g') as line from (
       select format('%s %s %s', c.relkind, c.relname, string_agg(a.attname || ' ' || format_type(a.atttypid, a.atttypmod), ', ' order by a.attnum)) as line
       from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
       where c.relnamespace = 'taskq'::regnamespace group by c.oid
       union all
       select pg_get_functiondef(p.oid) || coalesce(p.proacl::text, '') from pg_proc p where p.pronamespace = 'taskq'::regnamespace
       union all
       select format('%s %s', conrelid::regclass, pg_get_constraintdef(oid)) from pg_constraint where connamespace = 'taskq'::regnamespace
       union all
       select format('release %s %s', number, functions_hash) from taskq.release
       union all
       select format('migration %s %s', id, hash) from taskq.migrations
     ) as of_schema order by 1`,
  );
  return rows.map((row) => row.line);
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

test(`twenty processes that migrate an empty database at once all succeed, and make it once (${ROUNDS} rounds)`, async () => {
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

/** How far a migrator has come. */
const STAGES: Readonly<Record<string, string>> = {
  'it has connected':
    "select exists (select from pg_locks where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())) or to_regnamespace('taskq') is not null",
  'there is a schema': "select to_regclass('taskq.migrations') is not null",
  'there are tables': "select to_regclass('taskq.tasks') is not null",
  'there are settings': "select to_regclass('taskq.release') is not null",
};

test('a migrator that is killed leaves no lock and no half a schema: the next one makes the rest', async () => {
  let inBetween = 0;
  for (const [stage, isReached] of Object.entries(STAGES)) {
    const { database, admin } = await keep(emptyDatabase());
    const migrator = startMigrator(database.url);
    await waitUntil(() => admin.value<boolean>(isReached), `never reached: ${stage}`);
    migrator.kill();
    await migrator.end;
    const { steps, newlyApplied } = await migrate({ databaseUrl: database.url });
    expect(steps.every((step) => step.applied)).toBe(true);
    if (newlyApplied.length > 0 && newlyApplied.length < steps.length) inBetween++;
    await expectWhole(admin);
    expect((await migrate({ databaseUrl: database.url })).newlyApplied).toEqual([]);
  }
  expect(inBetween).toBeGreaterThan(0);
});

test('nor one that is killed at any moment', async () => {
  for (let round = 0; round < ROUNDS - 2; round++) {
    const { database, admin } = await keep(emptyDatabase());
    const migrator = startMigrator(database.url);
    await migrator.ready;
    setTimeout(migrator.kill, Math.random() * 500);
    await migrator.end;
    await migrate({ databaseUrl: database.url });
    await expectWhole(admin);
  }
}, 600_000);
