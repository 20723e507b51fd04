import { stat } from 'node:fs/promises';
import { connectClient } from '../lib/connect.ts';
import { TaskqError } from '../lib/errors.ts';
import { userName } from './account.ts';
import { recordedPid } from './data-directory.ts';
import { type Layout, urlOf } from './layout.ts';
import type { EmbeddedServer } from './server.ts';

/** What a connection attempt shows: a server, one that starts, stops or recovers, or none. */
export type Probe = EmbeddedServer | 'busy' | 'absent';

/** Asks the socket of this layout who is there. Fails with the server's error when it refuses us for good. */
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
 * 57P03: it starts, stops or recovers. The others: it ended between our question and its answer. No code at all
 * is the driver's own: a timeout, or a connection that was cut.
 */
const BUSY = new Set(['57P03', '57P01', 'ECONNRESET', 'EPIPE']);

const WHO = `select current_setting('data_directory') as data,
  substring(current_setting('server_version') from '^\\S+') as version`;

async function describe(layout: Layout, dataDir: string, version: string): Promise<Probe> {
  const pid = await recordedPid(dataDir);
  if (pid === undefined) return 'busy'; // it removed its pid file: it stops
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

/** The driver's or the system's code of an error, which may be wrapped in one for the operator. */
function codeOf(error: unknown): string | undefined {
  const codes: (string | undefined)[] = [];
  for (let at = error; at instanceof Error; at = at.cause) codes.push((at as NodeJS.ErrnoException).code);
  return codes.at(-1);
}
