import { join, resolve } from 'node:path';
import { TaskqError } from '../lib/errors.ts';
import { userPaths } from '../lib/user-paths.ts';
import { isRoot } from './account.ts';

/** The paths of one local server. */
export interface Layout {
  readonly stateDir: string;
  /** Copies of the packaged binaries, one directory per version. */
  readonly copiesDir: string;
  readonly socketDir: string;
  /** The socket; the server keeps a `.lock` beside it. */
  readonly socket: string;
  readonly logFile: string;
  readonly port: number;
}

const PORT = 5432;

/** `sun_path` without its final zero: of 108 bytes on Linux, 104 on macOS. */
const LONGEST_SOCKET = process.platform === 'linux' ? 107 : 103;

/**
 * Returns the paths of the server in `directory` (default: root's or this user's own) without touching any. Throws
 * TaskqError if the socket's path is too long for the operating system.
 */
export function layoutOf(directory: string = defaultStateDir()): Layout {
  const stateDir = resolve(directory); // absolute: the server runs in another directory
  const socketDir = join(stateDir, 'socket');
  const socket = join(socketDir, `.s.PGSQL.${PORT}`);
  const bytes = Buffer.byteLength(socket);
  if (bytes > LONGEST_SOCKET) {
    throw new TaskqError('embedded_path_too_long', `The socket path ${socket} has ${bytes} bytes`, {
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

/** Root's server runs as another user, who cannot enter `/root`. */
function defaultStateDir(): string {
  return isRoot() ? '/var/lib/taskq' : userPaths().data;
}

/**
 * The role that owns the server. Not `taskq`: with the usual search path, a table that an application creates without a
 * schema would go into the schema of its role's name, among the queue's own.
 */
export const ROLE = 'postgres';

/** Returns the connection string of a database on the server of this layout. */
export function urlOf(layout: Layout, database: string): string {
  // Sets port and sslmode explicitly, so that the user's PGPORT or PGSSLMODE, meant for another server, has no effect.
  const query = new URLSearchParams({
    host: layout.socketDir,
    port: String(layout.port),
    sslmode: 'disable',
  });
  // libpq decodes only %20; a `+` would be part of the path.
  return `postgresql://${ROLE}@/${encodeURIComponent(database)}?${query.toString().replaceAll('+', '%20')}`;
}
