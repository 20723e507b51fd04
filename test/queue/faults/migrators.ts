import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';
import type { MigrationStep } from '../../../src/queue/schema/migrate.ts';
import { SQL } from '../../../src/queue/schema/schema-release.ts';
import type { Session } from '../session.ts';
import { waitUntil } from '../waiting.ts';

const BUILT = fileURLToPath(new URL('../../../dist/queue/schema/migrate.js', import.meta.url));

/**
 * Says `ready`, migrates, and prints the steps that it made itself. It waits for others for as long as a test may take: on a
 * busy machine, half a minute is over while another process creates the schema.
 */
const PROGRAM = `
  const { migrate } = await import(${JSON.stringify(BUILT)});
  process.stdout.write('ready\\n');
  const { DATABASE_URL: databaseUrl, SQL: sql } = process.env;
  const { newlyApplied } = await migrate({ databaseUrl, sql, patienceMs: 240_000 });
  process.stdout.write(JSON.stringify(newlyApplied));
`;

/** A process that migrates. */
export interface Migrator {
  /** Resolved when it has loaded everything and begins. */
  readonly ready: Promise<unknown>;
  kill(): void;
  readonly end: Promise<{ code: number | null; steps: MigrationStep[]; stderr: string }>;
}

/** Starts one: with this package's own release, or that of another directory. */
export function startMigrator(databaseUrl: string, sql?: string): Migrator {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', PROGRAM], {
    env: { ...process.env, DATABASE_URL: databaseUrl, ...(sql !== undefined && { SQL: sql }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
    });
  }
  const ended = once(child, 'close').then(() => ({
    code: child.exitCode,
    steps: JSON.parse(output.stdout.replace('ready\n', '') || '[]') as MigrationStep[],
    stderr: output.stderr,
  }));
  return {
    ready: Promise.race([once(child.stdout, 'data'), ended]),
    kill: () => void child.kill('SIGKILL'),
    end: ended,
  };
}

/** Everything the schema consists of, as lines; a partition of one day is as good as one of the next. */
export async function describeSchema(admin: Session): Promise<string[]> {
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

/** Holds up the first statement of a kind, for as long as it is not lifted, and however long the migrator may wait. */
export async function stopAt(
  admin: Session,
  tag: string,
): Promise<{ reached(): Promise<void>; lift(): Promise<void> }> {
  // The place is noted where no transaction takes it back: in the name of the session.
  await admin.client.query(`
    create table public.gate (shut boolean);
    insert into public.gate values (true);
    create function public.wait_at_gate() returns event_trigger language plpgsql as $$
    begin
      while (select shut from public.gate) loop
        set application_name = 'at the gate';
        perform pg_sleep(0.01);
      end loop;
    end
    $$;
    create event trigger gate on ddl_command_start when tag in ('${tag}') execute function public.wait_at_gate();
  `);
  const isThere = () =>
    admin.value<boolean>(
      "select exists (select from pg_stat_activity where application_name = 'at the gate' and datname = current_database())",
    );
  return {
    reached: () => waitUntil(isThere, `never reached: ${tag}`),
    async lift() {
      await admin.rows('update public.gate set shut = false');
      await waitUntil(async () => !(await isThere()), 'its session goes on');
      await admin.client.query(
        'drop event trigger gate; drop function public.wait_at_gate(); drop table public.gate',
      );
    },
  };
}

/** The text of a file that makes a function of taskq's. */
export function functionOf(signature: string, body: string): string {
  const settings = 'language sql security definer set search_path = pg_catalog, taskq, pg_temp';
  return `-- Of a test.\ncreate or replace function taskq.${signature} ${settings} as $$ ${body} $$;`;
}

/** Makes the directory of a release `more` numbers after this one, with these files of functions added. */
export async function releaseWith(more: number, files: Readonly<Record<string, string>>): Promise<string> {
  const sql = await mkdtemp(join(inject('scratchDirectory'), 'sql-'));
  await cp(SQL, sql, { recursive: true });
  const release = JSON.parse(await readFile(join(sql, 'release.json'), 'utf8'));
  await writeFile(join(sql, 'release.json'), JSON.stringify({ ...release, number: release.number + more }));
  for (const [name, text] of Object.entries(files))
    await writeFile(join(sql, 'functions', 'api', `${name}.sql`), text);
  return sql;
}
