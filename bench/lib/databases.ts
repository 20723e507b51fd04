import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { startEmbedded } from '../../dist/embedded/start.js';
import { stopEmbedded } from '../../dist/embedded/stop.js';
import { cpuMsOf } from './server-cpu.ts';
import type { Undo } from './undo.ts';

/** The PostgreSQL on which all systems are measured. */
export interface Databases {
  /** Its description, for the results. */
  readonly about: Readonly<Record<string, string>>;
  /** Make an empty database, or a copy of a template that `install` fills the first time. Returns its URL. */
  fresh(template: string, install: (url: string) => Promise<void>): Promise<string>;
  /** The CPU time that the server has used so far; undefined where it is not known. */
  cpuMs(): Promise<number | undefined>;
  /** Delete a database, even while clients are connected. */
  drop(url: string): Promise<void>;
}

/**
 * Avoid a checkpoint that a smaller setting would force in the middle of a measurement. Everything else is as
 * PostgreSQL ships it: every commit is durable.
 */
const SETTINGS = {
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track': 'none',
  shared_buffers: '512MB',
  max_wal_size: '8GB',
  checkpoint_timeout: '30min',
  autovacuum_naptime: '10s',
};

const SHOWN = ['server_version', 'fsync', 'synchronous_commit', 'full_page_writes', ...Object.keys(SETTINGS)];

/** Use the PostgreSQL of BENCH_DATABASE_URL, or start our own in a directory that is deleted afterwards. */
export async function openDatabases(undo: Undo): Promise<Databases> {
  const given = process.env.BENCH_DATABASE_URL;
  const { url: adminUrl, pid } =
    given === undefined ? await startServer(undo) : { url: given, pid: undefined };
  const admin = new pg.Pool({ connectionString: adminUrl, max: 1 });
  undo.add(() => admin.end());
  const prefix = `taskq_bench_${process.pid}`;
  const templates = new Set<string>();
  let made = 0;

  const create = async (name: string, template: string) => {
    await admin.query(`create database ${name} template ${template}`);
    undo.add(() => admin.query(`drop database if exists ${name} with (force)`));
  };
  const urlOf = (name: string) => adminUrl.replace(DATABASE_IN_URL, `$1${name}`);
  const about: Record<string, string> = {};
  for (const name of SHOWN) {
    const { rows } = await admin.query<{ value: string }>('select current_setting($1) as value', [name]);
    about[name] = rows[0]!.value;
  }
  return {
    about,
    async fresh(template, install) {
      const from = `${prefix}_${template}`;
      if (!templates.has(from)) {
        await create(from, 'template0');
        await install(urlOf(from));
        await everyoneGone(admin, from);
        templates.add(from);
      }
      made += 1;
      await create(`${prefix}_${made}`, from);
      return urlOf(`${prefix}_${made}`);
    },
    cpuMs: async () => (pid === undefined ? undefined : cpuMsOf(pid)),
    drop: async (url) => {
      await everyoneGone(admin, nameIn(url));
      await admin.query(`drop database if exists ${nameIn(url)} with (force)`);
    },
  };
}

/**
 * Matches a URL up to its database's name. User and host, if any, precede it (group 1); a socket's directory follows
 * it.
 */
const DATABASE_IN_URL = /^(postgres(?:ql)?:\/\/[^/?]*\/?)[^?]*/;

function nameIn(url: string): string {
  return DATABASE_IN_URL.exec(url)![0].split('/').at(-1)!;
}

/**
 * Wait until all clients have left: a closed pool may still be disconnecting, and reports an error if it is thrown out.
 */
async function everyoneGone(admin: pg.Pool, name: string): Promise<void> {
  for (let triesLeft = 200; triesLeft > 0; triesLeft--) {
    const { rows } = await admin.query(
      "select from pg_stat_activity where datname = $1 and backend_type = 'client backend'",
      [name],
    );
    if (rows.length === 0) return;
    await sleep(25);
  }
}

async function startServer(undo: Undo): Promise<{ url: string; pid: number }> {
  const root = await mkdtemp(join(tmpdir(), 'taskq-bench-'));
  await chmod(root, 0o755);
  undo.add(() => rm(root, { recursive: true, force: true }));
  const stateDir = join(root, 'server');
  undo.add(() => stopEmbedded({ stateDir }));
  const server = await startEmbedded({ stateDir, settings: SETTINGS });
  return { url: server.url('postgres'), pid: server.pid };
}
