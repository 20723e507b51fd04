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
  /** Returns the URL of the same database through the pooler. */
  through(databaseUrl: string): string;
  stop(): Promise<void>;
}

/** Finds PgBouncer: on the PATH, or else where Debian installs it. Undefined if it is not installed. */
export function findPgbouncer(path: string): string | undefined {
  const directories = [...path.split(delimiter), '/usr/sbin'];
  return directories.map((directory) => join(directory, 'pgbouncer')).find((program) => existsSync(program));
}

/** A few servers, replaced often: the next statement meets what one leaves behind. */
const SERVERS = 5;

/**
 * Starts a PgBouncer in a new directory, in front of a URL's server (a Unix socket). It runs as the user of that server
 * because it refuses root.
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

/** Waits for it to listen: its socket file appears earlier. */
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
