import { join, resolve } from 'node:path';
import envPaths from 'env-paths';
import { EXIT, TaskqError } from '../lib/errors.ts';
import { isRoot } from './account.ts';

/** Where everything of one local server lives. */
export interface Layout {
  readonly stateDir: string;
  /** Copies of the packaged binaries, a directory per version. */
  readonly copiesDir: string;
  readonly socketDir: string;
  /** The socket itself; the server keeps a `.lock` beside it. */
  readonly socket: string;
  readonly logFile: string;
  readonly port: number;
}

const PORT = 5432;

/** `sun_path` less its final zero: 108 bytes on Linux, 104 on macOS. */
const LONGEST_SOCKET = process.platform === 'linux' ? 107 : 103;

/**
 * Names the places of the server in `directory` (by default root's or this user's own) and touches nothing.
 * Fails when the socket's path would be too long for the operating system.
 */
export function layoutOf(directory: string = defaultStateDir()): Layout {
  const stateDir = resolve(directory); // the server runs in another directory than we
  const socketDir = join(stateDir, 'socket');
  const socket = join(socketDir, `.s.PGSQL.${PORT}`);
  const bytes = Buffer.byteLength(socket);
  if (bytes > LONGEST_SOCKET) {
    throw new TaskqError('embedded_path_too_long', `The socket path ${socket} has ${bytes} bytes`, {
      exitCode: EXIT.usage,
      hint: `Choose a state directory that is shorter by ${bytes - LONGEST_SOCKET}: a socket may have ${LONGEST_SOCKET}`,
    });
  }
  return {
    stateDir,
    copiesDir: join(stateDir, 'bin'),
    socketDir,
    socket,
    logFile: join(stateDir, 'postgres.log'),
    port: PORT,
  };
}

/** Root's server runs as another user, who cannot look into `/root`. */
function defaultStateDir(): string {
  return isRoot() ? '/var/lib/taskq' : envPaths('taskq', { suffix: '' }).data;
}

/**
 * The role that owns the server. Not `taskq`: with the usual search path, a table that an application makes without
 * saying where would land in the schema of its role's name, among the queue's own.
 */
export const ROLE = 'postgres';

/** The connection string of a database on the server of this layout. */
export function urlOf(layout: Layout, database: string): string {
  // Port and sslmode are said so that a PGPORT or PGSSLMODE of the user, meant for another server, changes nothing.
  const query = new URLSearchParams({
    host: layout.socketDir,
    port: String(layout.port),
    sslmode: 'disable',
  });
  // libpq knows %20 only; a `+` would be part of the path.
  return `postgresql://${ROLE}@/${encodeURIComponent(database)}?${query.toString().replaceAll('+', '%20')}`;
}
