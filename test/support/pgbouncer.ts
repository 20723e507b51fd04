import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, mkdir, stat, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export type PoolMode = 'session' | 'transaction' | 'statement';

/** A pooler between tests and a server. */
export interface Pgbouncer {
  /** The same database through it. */
  through(databaseUrl: string): string;
  stop(): Promise<void>;
}

/** Finds PgBouncer: on the PATH, else where Debian puts it. Undefined: it is not installed. */
export function findPgbouncer(path: string): string | undefined {
  const directories = [...path.split(delimiter), '/usr/sbin'];
  return directories.map((directory) => join(directory, 'pgbouncer')).find((program) => existsSync(program));
}

/** A few servers, soon replaced: what one statement leaves behind the next one meets. */
const SERVERS = 5;

/**
 * Starts a PgBouncer of its own, in an empty directory that is made, before the server of a URL (a Unix socket). It runs
 * as whoever runs that server: it refuses root.
 */
export async function startPgbouncer(options: {
  readonly program: string;
  readonly directory: string;
  readonly serverUrl: string;
  readonly mode: PoolMode;
}): Promise<Pgbouncer> {
  const { program, directory, serverUrl, mode } = options;
  const server = new URLSearchParams(serverUrl.split('?')[1]);
  const { uid, gid } = await stat(server.get('host')!);
  await mkdir(directory);
  await chmod(directory, 0o777);
  const settings = join(directory, 'pgbouncer.ini');
  await writeFile(
    settings,
    `[databases]
* = host=${server.get('host')} port=${server.get('port')} user=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = ${directory}
listen_port = 6432
auth_type = any
pool_mode = ${mode}
default_pool_size = ${SERVERS}
max_client_conn = 500
server_lifetime = 5
server_idle_timeout = 5
query_wait_timeout = 60
`,
  );
  const child = spawn(program, ['--quiet', settings], {
    stdio: 'ignore',
    ...(process.getuid?.() === 0 && { uid, gid }),
  });
  await ready(child, join(directory, '.s.PGSQL.6432'));
  return {
    through(databaseUrl) {
      const [base, query] = databaseUrl.split('?') as [string, string];
      const changed = new URLSearchParams(query);
      changed.set('host', directory);
      changed.set('port', '6432');
      return `${base}?${changed}`;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
  };
}

/** Its socket is there before it listens on it. */
async function ready(child: ChildProcess, socket: string): Promise<void> {
  for (let triesLeft = 500; !(await isListening(socket)); triesLeft--) {
    if (child.exitCode !== null || triesLeft === 0)
      throw new Error(`PgBouncer did not start: ${child.exitCode}`);
    await sleep(10);
  }
}

function isListening(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.on('error', () => resolve(false));
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
