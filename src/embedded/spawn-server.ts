import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile, rename, stat } from 'node:fs/promises';
import { type Account, asAccount } from './account.ts';
import type { Layout } from './layout.ts';
import { PLAIN } from './run.ts';

/** A server that is starting. */
export interface Spawned {
  readonly pid: number;
  /** Returns what it has logged since it was spawned. */
  output(): Promise<string>;
}

/** A log larger than this is moved aside at the next start. */
const LOG_BYTES = 10 * 1024 * 1024;

/** Starts the server, which outlives this process and its terminal. Throws if the program cannot be run. */
export async function spawnServer(
  layout: Layout,
  dataDir: string,
  postgres: string,
  account: Account,
  settings: Readonly<Record<string, string>>,
): Promise<Spawned> {
  await putLargeLogAside(layout.logFile);
  const log = await open(layout.logFile, 'a', 0o600);
  try {
    const { size } = await log.stat();
    const child = spawn(postgres, ['-D', dataDir, ...flags(layout, settings)], {
      ...asAccount(account),
      cwd: '/',
      env: { ...PLAIN, ...HUGE_PAGES },
      detached: true,
      stdio: ['ignore', log.fd, log.fd],
    });
    await once(child, 'spawn');
    child.unref();
    return { pid: child.pid!, output: () => tail(layout.logFile, size) };
  } finally {
    await log.close();
  }
}

/**
 * Ask glibc (2.35 and later) for heaps in huge pages: a session then fills its caches with a few page faults, where each
 * of a thousand small pages costs one. A short session takes a fifth less CPU, and 2 MB more memory.
 */
const HUGE_PAGES = { GLIBC_TUNABLES: 'glibc.malloc.hugetlb=1' };

/** Settings for one user's server on one machine: small, vacuumed promptly, and on no network. */
function flags(layout: Layout, settings: Readonly<Record<string, string>>): readonly string[] {
  const all = {
    autovacuum_naptime: '10s',
    listen_addresses: '',
    port: String(layout.port),
    // A list: a path that contains a comma needs quotes.
    unix_socket_directories: `"${layout.socketDir.replaceAll('"', '""')}"`,
    unix_socket_permissions: '0700',
    shared_buffers: '64MB',
    max_wal_size: '256MB',
    max_connections: '300',
    ...settings,
  };
  return Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

async function tail(logFile: string, from: number): Promise<string> {
  return (await readFile(logFile)).subarray(from).toString().trim();
}

async function putLargeLogAside(logFile: string): Promise<void> {
  const found = await stat(logFile).catch(() => undefined);
  if (found && found.size > LOG_BYTES) await rename(logFile, `${logFile}.old`);
}
