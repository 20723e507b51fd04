import { TaskqError } from '../lib/errors.ts';
import { serverAccount } from './account.ts';
import { dataDirectories, recordedPid } from './data-directory.ts';
import { exists } from './files.ts';
import { type Layout, layoutOf } from './layout.ts';
import { serverProcesses, waitUntilGone } from './processes.ts';
import type { EmbeddedOptions } from './server.ts';
import { underStartLock } from './start-lock.ts';

export type Stopped = 'stopped' | 'not running';

/** A fast shutdown ends with a checkpoint; this allows for a slow disk. */
const LIMIT_MS = 60_000;

/**
 * Stops this user's server even if clients are connected: their transactions are rolled back. Returns when its process
 * has ended. Throws TaskqError if it does not end.
 */
export async function stopEmbedded(options: EmbeddedOptions = {}): Promise<Stopped> {
  const layout = layoutOf(options.stateDir);
  if (!(await exists(layout.stateDir))) return 'not running';
  return underStartLock(layout, () => stopServers(layout));
}

/** Stops every server of this layout, of any major version. The caller holds the start lock. */
export async function stopServers(layout: Layout): Promise<Stopped> {
  const stopped: Stopped[] = [];
  for (const dataDir of await dataDirectories(layout)) stopped.push(await stopServer(dataDir, layout));
  return stopped.includes('stopped') ? 'stopped' : 'not running';
}

async function stopServer(dataDir: string, layout: Layout): Promise<Stopped> {
  const pid = await recordedPid(dataDir);
  if (pid === undefined) return 'not running';
  // The pid may have been reused.
  if (!(await serverProcesses(dataDir, await serverAccount(dataDir))).includes(pid)) return 'not running';
  process.kill(pid, 'SIGINT');
  if (await waitUntilGone([pid], LIMIT_MS)) return 'stopped';
  throw new TaskqError('embedded_stop_failed', `The local database, process ${pid}, does not end`, {
    hint: `See ${layout.logFile}`,
  });
}
