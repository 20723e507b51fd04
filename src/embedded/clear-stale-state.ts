import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskqError } from '../lib/errors.ts';
import type { Account } from './account.ts';
import { recordedPid } from './data-directory.ts';
import type { Layout } from './layout.ts';
import { serverProcesses, waitUntilGone } from './processes.ts';

/**
 * Removes what a server that was killed left behind and the next one would stumble over; answers `server alive`,
 * and touches nothing, when it was not killed. To be called under the start lock.
 *
 * Postgres itself believes a pid file whose number is that of any process of its user (a zombie, or one that got
 * the number since), does not start beside an empty one, nor beside backends that outlived their postmaster. It
 * is right to be careful: two servers on one data directory destroy it. We can say more because we know every
 * live process in the directory: the pid file goes only when there is none any more.
 */
export async function clearStaleState(
  layout: Layout,
  dataDir: string,
  account: Account,
): Promise<'cleared' | 'server alive'> {
  const processes = await serverProcesses(dataDir, account);
  const recorded = await recordedPid(dataDir);
  if (recorded !== undefined && processes.includes(recorded)) return 'server alive';
  await killOrphans(processes, dataDir);
  await rm(join(dataDir, 'postmaster.pid'), { force: true });
  await rm(`${layout.socket}.lock`, { force: true });
  await rm(layout.socket, { force: true });
  return 'cleared';
}

/** Without a postmaster they serve nobody, and what they had committed is in the log of the next one's recovery. */
async function killOrphans(pids: readonly number[], dataDir: string): Promise<void> {
  for (const pid of pids) kill(pid);
  if (await waitUntilGone(pids, 10_000)) return;
  throw new TaskqError(
    'embedded_orphans',
    `Processes ${pids.join(', ')} of a killed server still use ${dataDir} and do not end`,
    { hint: 'They are probably waiting for a disk; try again when it responds' },
  );
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
