import { stat } from 'node:fs/promises';
import { connectClient } from '../lib/connect.ts';
import { TaskqError } from '../lib/errors.ts';
import { userName } from './account.ts';
import { recordedPid } from './data-directory.ts';
import { type Layout, urlOf } from './layout.ts';
import type { EmbeddedServer } from './server.ts';

/** The result of a connection attempt: a server, `busy` for one that starts, stops or recovers, or `absent`. */
export type Probe = EmbeddedServer | 'busy' | 'absent';

/**
 * Connects to the socket of this layout to find its server. Throws the server's error if it refuses us for good, or
 * TaskqError if the server belongs to another user.
 */
export async function probe(layout: Layout): Promise<Probe> {
  try {
    const client = await connectClient({
      connectionString: urlOf(layout, 'postgres'),
      connectTimeoutMs: 5_000,
    });
    try {
      const { rows } = await client.query<{ data: string; version: string }>(WHO);
      return await describe(layout, rows[0]!.data, rows[0]!.version);
    } finally {
      await client.end();
    }
  } catch (error) {
    const code = codeOf(error);
    if (code !== undefined && ABSENT.has(code)) return 'absent';
    if (code === undefined || BUSY.has(code)) return 'busy';
    if (code === 'EACCES') throw notOurs(layout, error);
    throw error;
  }
}

const ABSENT = new Set(['ENOENT', 'ENOTDIR', 'ECONNREFUSED']);

/**
 * 57P03: the server starts, stops or recovers. The others: it ended during our query. An error without a code is the
 * driver's own: a timeout, or a connection that was cut.
 */
const BUSY = new Set(['57P03', '57P01', 'ECONNRESET', 'EPIPE']);

const WHO = `select current_setting('data_directory') as data,
  substring(current_setting('server_version') from '^\\S+') as version`;

async function describe(layout: Layout, dataDir: string, version: string): Promise<Probe> {
  const pid = await recordedPid(dataDir);
  if (pid === undefined) return 'busy'; // it removed its pid file, so it is stopping
  const user = await userName((await stat(dataDir)).uid);
  const { stateDir, socketDir, logFile } = layout;
  return {
    ...{ stateDir, socketDir, dataDir, logFile, pid, version, user },
    url: (database) => urlOf(layout, database),
  };
}

function notOurs(layout: Layout, cause: unknown): TaskqError {
  return new TaskqError('embedded_not_yours', `The local database in ${layout.stateDir} is another user's`, {
    hint: 'Run taskq as that user, or choose another state directory',
    cause,
  });
}

/** Returns the code of the error from the driver or the system, which may be the cause of a TaskqError. */
function codeOf(error: unknown): string | undefined {
  const codes: (string | undefined)[] = [];
  for (let at = error; at instanceof Error; at = at.cause) codes.push((at as NodeJS.ErrnoException).code);
  return codes.at(-1);
}
