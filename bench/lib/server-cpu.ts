import { readFile } from 'node:fs/promises';

const MS_PER_TICK = 10;

/**
 * The CPU time in milliseconds that a process and its children have used so far, including those that have ended; for a
 * postmaster that is the whole server. Undefined where there is no /proc.
 */
export async function cpuMsOf(pid: number): Promise<number | undefined> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => undefined);
  if (children === undefined) return undefined;
  // User and system time of the process, then of the children it has waited for.
  const own = await ticksOf(pid, [11, 12, 13, 14]);
  const alive = await Promise.all(
    children
      .split(' ')
      .filter(Boolean)
      .map((child) => ticksOf(Number(child), [11, 12])),
  );
  return MS_PER_TICK * alive.reduce((sum, ticks) => sum + ticks, own);
}

/** Sum fields of /proc/<pid>/stat, counted from the one after the name; 0 when the process has just ended. */
async function ticksOf(pid: number, fields: readonly number[]): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined);
  if (stat === undefined) return 0;
  const values = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return fields.reduce((sum, field) => sum + Number(values[field]), 0);
}
