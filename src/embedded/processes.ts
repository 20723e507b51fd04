import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Account, asAccount } from './account.ts';
import { capture, run } from './run.ts';

/**
 * Returns when a process started, in the system's own words, which distinguishes it from a later one with the same pid.
 * Undefined if there is none, or only its zombie: `kill -0` succeeds for a zombie, but it does nothing.
 */
export async function startOfProcess(pid: number): Promise<string | undefined> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
    // The name, in parentheses, may contain anything; after it, state is the first field and starttime the 20th.
    const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields && fields[0] !== 'Z' && fields[0] !== 'X' ? fields[19] : undefined;
  }
  const output = await capture('ps', ['-o', 'state=,lstart=', '-p', String(pid)]);
  return output && !output.startsWith('Z') ? output.slice(output.indexOf(' ')).trim() : undefined;
}

/**
 * Returns the live processes of the server whose data is in `dataDir`. All have it as their working directory, unlike
 * an unrelated process that reused a pid.
 */
export async function serverProcesses(dataDir: string, account: Account): Promise<readonly number[]> {
  const output =
    process.platform === 'linux'
      ? await run('/bin/sh', ['-c', FIND_ON_LINUX, 'sh', dataDir], asAccount(account))
      : ((await capture('lsof', ['-a', '-c', 'postgres', '-d', 'cwd', '-t', '--', dataDir])) ?? '');
  return output.split('\n').filter(Boolean).map(Number);
}

/**
 * Runs in a shell of the server's own user: in a container, root lacks CAP_SYS_PTRACE and may not see the working
 * directories of another user's processes. Checks the name too: a shell that someone opened in the directory is not the
 * server. A zombie has no working directory.
 */
const FIND_ON_LINUX = `
for process in /proc/[0-9]*; do
  if [ "$process/cwd" -ef "$1" ] && read -r name < "$process/comm" && [ "$name" = postgres ]; then
    echo "\${process#/proc/}"
  fi
done 2> /dev/null
true`;

/** Waits until none of these processes is left. Returns false if one still is after `limitMs`. */
export async function waitUntilGone(pids: readonly number[], limitMs: number): Promise<boolean> {
  const deadline = performance.now() + limitMs;
  for (const pid of pids) {
    while ((await startOfProcess(pid)) !== undefined) {
      if (performance.now() > deadline) return false;
      await sleep(10);
    }
  }
  return true;
}
