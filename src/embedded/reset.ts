import { rm } from 'node:fs/promises';
import { serverAccount } from './account.ts';
import { clearStaleState } from './clear-stale-state.ts';
import { dataDirectories } from './data-directory.ts';
import { exists } from './files.ts';
import { layoutOf } from './layout.ts';
import type { EmbeddedOptions } from './server.ts';
import { underStartLock } from './start-lock.ts';
import { stopServers } from './stop.ts';

/**
 * Stops this user's server and deletes its data: every database of every project, of every major version. Keeps the
 * copied binaries and the log.
 */
export async function resetServer(options: EmbeddedOptions = {}): Promise<'deleted' | 'nothing there'> {
  const layout = layoutOf(options.stateDir);
  if (!(await exists(layout.stateDir))) return 'nothing there';
  return underStartLock(layout, async () => {
    const directories = await dataDirectories(layout);
    await stopServers(layout);
    for (const dataDir of directories) {
      await clearStaleState(layout, dataDir, await serverAccount(dataDir));
      await rm(dataDir, { recursive: true, force: true });
    }
    return directories.length > 0 ? 'deleted' : 'nothing there';
  });
}
