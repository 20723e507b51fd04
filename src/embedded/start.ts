import { TaskqError } from '../lib/errors.ts';
import { serverAccount } from './account.ts';
import { clearStaleState } from './clear-stale-state.ts';
import { dataDirectory, isInitialised, recordedPid, refuseOtherMajor } from './data-directory.ts';
import { initialiseDataDirectory } from './initialise-data-directory.ts';
import { type Layout, layoutOf } from './layout.ts';
import { locateBinaries } from './locate-binaries.ts';
import { prepareSocketDirectory, prepareStateDirectory } from './prepare-directories.ts';
import { probe } from './probe.ts';
import type { EmbeddedOptions, EmbeddedServer } from './server.ts';
import { spawnServer } from './spawn-server.ts';
import { underStartLock } from './start-lock.ts';
import { waitForServer } from './wait-for-server.ts';

/**
 * Returns this user's server; starts it if it is not running, and creates it if it does not exist. Any number of
 * processes may call this at once: all get the same server. Throws TaskqError, which names the obstacle.
 */
export async function startEmbedded(options: EmbeddedOptions = {}): Promise<EmbeddedServer> {
  const layout = layoutOf(options.stateDir);
  const found = await probe(layout);
  if (typeof found === 'object') return found;
  await prepareStateDirectory(layout);
  return underStartLock(layout, async () => (await waitForServer(layout)) ?? (await launch(layout, options)));
}

async function launch(layout: Layout, options: EmbeddedOptions): Promise<EmbeddedServer> {
  const binaries = await locateBinaries(layout, options);
  await refuseOtherMajor(layout, binaries.major);
  const dataDir = dataDirectory(layout, binaries.major);
  const account = await serverAccount(dataDir);
  await prepareSocketDirectory(layout, account);
  if (!(await isInitialised(dataDir))) {
    options.onProgress?.('creating the data directory');
    await initialiseDataDirectory(layout, dataDir, binaries, account);
  }
  if ((await clearStaleState(layout, dataDir, account)) === 'server alive') {
    // It has no socket yet, or no longer: the process that started it has died, or it is about to end.
    const theirs = await waitForServer(layout, await recordedPid(dataDir));
    return theirs ?? launch(layout, options);
  }
  options.onProgress?.('starting');
  const spawned = await spawnServer(layout, dataDir, binaries.postgres, account, options.settings ?? {});
  return (await waitForServer(layout, spawned.pid)) ?? endedAtOnce(layout, await spawned.output());
}

function endedAtOnce(layout: Layout, output: string): never {
  const reason = /^.*(?:FATAL|PANIC|ERROR): +(.*)$/m.exec(output)?.[1] ?? output.split('\n').at(-1);
  throw new TaskqError(
    'embedded_start_failed',
    `The local database did not start: ${reason || 'it printed no reason'}`,
    {
      hint: `See ${layout.logFile}`,
    },
  );
}
