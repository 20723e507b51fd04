import { readFile, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';

/** The servers of one run need some hundred megabytes. */
const ROOM = 4 * 2 ** 30;
const SHARED_MEMORY = '/dev/shm';

/** Where the directories of the test servers may be. */
export const SERVER_PARENTS = [SHARED_MEMORY, tmpdir()];

/**
 * Returns where to put the test servers: in memory, where a clone of the template costs 12 ms of CPU, and 22 to 200 on a
 * disk that others use too; or on disk, if that is asked for, if memory has too little room, or no program may run there.
 */
export async function chooseServerParent(durable: boolean): Promise<string> {
  return !durable && (await mayUseMemory()) ? SHARED_MEMORY : tmpdir();
}

async function mayUseMemory(): Promise<boolean> {
  try {
    const { bavail, bsize } = await statfs(SHARED_MEMORY);
    const mounts = (await readFile('/proc/mounts', 'utf8')).split('\n').map((line) => line.split(' '));
    const [, , type, options = 'noexec'] = mounts.findLast(([, at]) => at === SHARED_MEMORY) ?? [];
    return bavail * bsize >= ROOM && type === 'tmpfs' && !options.split(',').includes('noexec');
  } catch {
    return false;
  }
}
