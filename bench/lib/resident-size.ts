import { readFile } from 'node:fs/promises';

/**
 * The resident size of a process in MB, now and at its largest; undefined where there is no /proc or the process is
 * gone.
 */
export async function residentMb(
  pid: number,
): Promise<{ readonly now: number; readonly peak: number } | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  const now = mbOf(/VmRSS:\s+(\d+) kB/.exec(status));
  const peak = mbOf(/VmHWM:\s+(\d+) kB/.exec(status));
  return now === undefined || peak === undefined ? undefined : { now, peak };
}

function mbOf(match: RegExpExecArray | null): number | undefined {
  return match === null ? undefined : Number(match[1]) / 1024;
}
