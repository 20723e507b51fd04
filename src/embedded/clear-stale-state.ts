import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskqError } from '../lib/errors.ts';
import type { Account } from './account.ts';
import { recordedPid } from './data-directory.ts';
import type { Layout } from './layout.ts';
import { serverProcesses, waitUntilGone } from './processes.ts';

/**
 * Removes what a killed server left behind that would stop the next one from starting. Returns `server alive`, and
 * touches nothing, if the server was not killed. The caller holds the start lock.
 *
 * PostgreSQL itself trusts a pid file whose pid belongs to any process of its user (a zombie, or a process that reused
 * the pid). It does not start beside an empty pid file, or beside backends that outlived their postmaster. It is right
 * to be careful: two servers on one data directory destroy it. We can do better because we find every live process of
 * the directory: the pid file is removed only when none is left.
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

/** Without a postmaster they have no clients, and the next server recovers their commits from the log. */
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
