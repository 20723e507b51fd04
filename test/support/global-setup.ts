import { chmod, mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { ensureDatabase } from '../../src/embedded/databases.ts';
import { resetServer } from '../../src/embedded/reset.ts';
import type { EmbeddedServer } from '../../src/embedded/server.ts';
import { startEmbedded } from '../../src/embedded/start.ts';
import { stopEmbedded } from '../../src/embedded/stop.ts';
import { connectClient } from '../../src/lib/connect.ts';
import { type Pgbouncer, startPgbouncer } from './pgbouncer.ts';
import { chooseServerParent, SERVER_PARENTS } from './server-roots.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of the throw-away server's database `postgres`. */
    serverUrl: string;
    /** The same through a pooler; null for projects without one. */
    poolerUrl: string | null;
    /** A directory that every user may enter, deleted after the run. */
    scratchDirectory: string;
    /** Directory of the system's own server programs, for projects that run on them. */
    systemBinDir: string;
    /** PgBouncer's program, for projects that go through it. */
    pgbouncer: string;
  }
}

/** The migrated database that tests clone. */
export const TEMPLATE = 'taskq_template';

/** A crash of the machine may lose a test's data; otherwise this changes nothing. Measure with TASKQ_DURABLE. */
const SETTINGS = {
  ...(!process.env.TASKQ_DURABLE && { fsync: 'off', full_page_writes: 'off', max_wal_size: '128MB' }),
  // Compiling what is planned dear costs more than these tables give back.
  jit: 'off',
  // Most databases are dropped within seconds, and what a test vacuums it vacuums itself.
  autovacuum_naptime: '5min',
  max_connections: '300',
  max_prepared_transactions: '10',
};

/** Starts a server for this vitest project and migrates a template database. Returns the teardown. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandoned();
  const parent = await chooseServerParent(Boolean(process.env.TASKQ_DURABLE));
  const root = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
  await chmod(root, 0o755);
  const scratch = join(root, 'scratch');
  await mkdir(scratch);
  const binDir = project.config.provide.systemBinDir;
  const stateDir = join(root, 'server');
  // Files in memory need no processes that read ahead. PostgreSQL 15 does not know the setting.
  const settings = binDir === undefined ? { ...SETTINGS, io_method: 'sync' } : SETTINGS;
  const server = await startEmbedded({ stateDir, settings, ...(binDir && { binDir }) });
  let pooler: Pgbouncer | undefined;
  const teardown = async () => {
    await pooler?.stop();
    await stopEmbedded({ stateDir });
    await rm(root, REMOVED);
  };
  const program = project.config.provide.pgbouncer;
  try {
    await migrateTemplate(server);
    if (program !== undefined) {
      const directory = join(root, 'pooler');
      pooler = await startPgbouncer({
        program,
        directory,
        serverUrl: server.url('postgres'),
        mode: 'transaction',
      });
    }
  } catch (error) {
    await teardown();
    throw error;
  }
  project.provide('serverUrl', server.url('postgres'));
  project.provide('poolerUrl', pooler?.through(server.url('postgres')) ?? null);
  project.provide('scratchDirectory', scratch);
  return teardown;
}

async function migrateTemplate(server: EmbeddedServer): Promise<void> {
  await ensureDatabase(server, TEMPLATE);
  // Imported here, so that tests that only need a server still run when a file of the queue does not compile.
  const { migrate } = await import('../../src/queue/schema/migrate.ts');
  await migrate({ databaseUrl: server.url(TEMPLATE) });
  const client = await connectClient({ connectionString: server.url('postgres') });
  // A database with a session in it cannot be cloned.
  await client.query(`alter database ${TEMPLATE} with allow_connections false is_template true`);
  await client.end();
}

const PREFIX = 'taskq-test-';

/** A process of a server that has just ended may still write there. */
const REMOVED = { recursive: true, force: true, maxRetries: 10, retryDelay: 100 };

/** Removes the servers of killed runs, and those that their tests had started. */
async function removeAbandoned(): Promise<void> {
  for (const parent of SERVER_PARENTS) await removeAbandonedIn(parent);
}

async function removeAbandonedIn(parent: string): Promise<void> {
  for (const name of await readdir(parent).catch(() => [])) {
    const pid = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
    if (pid === undefined || isAlive(Number(pid))) continue;
    const root = join(parent, name);
    if ((await stat(root)).uid !== process.getuid?.()) continue;
    for (const part of await readdir(root)) await resetServer({ stateDir: join(root, part) });
    await rm(root, REMOVED);
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
