import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { namesIn } from './files.ts';
import { startOfProcess } from './processes.ts';

/** A lock that this process holds. */
export interface Lock {
  release(): Promise<void>;
}

/** The process that holds a lock, or held it when it died. */
export interface Holder {
  readonly pid: number;
  /** When that process started: its pid may have been reused. */
  readonly startedAt: string;
  /** Distinguishes two locks of one process. */
  readonly token: string;
}

/**
 * Tries to take the lock `<path>.<n>`. Returns it, or its current holder, or undefined if it is worth retrying at once.
 *
 * The highest number holds the lock. A number is taken with a hard link, which fails if the number exists, and which
 * makes the file appear with its content. A dead process's lock is not removed and taken again: of two processes that
 * see it dead, the slower would remove the faster one's lock. Instead it is followed by the next number, which counts
 * only if the dead lock is still in place afterwards; otherwise another process has followed it and is done, or is at
 * work under another number. Only the holder removes lower numbers.
 */
export async function tryLock(path: string): Promise<Lock | Holder | undefined> {
  const [top] = await numbers(path);
  const last = top === undefined ? undefined : await holderOf(path, top);
  if (top !== undefined && last === undefined) return undefined; // released in the meantime
  if (last && (await isAlive(last))) return last;

  const mine = (top ?? 0) + 1;
  if (!(await take(path, mine))) return undefined;
  const release = () => rm(`${path}.${mine}`, { force: true });

  const [highest, ...lower] = await numbers(path);
  const before = top === undefined ? undefined : await holderOf(path, top);
  if (highest !== mine || before?.token !== last?.token) {
    await release();
    return undefined;
  }
  for (const number of lower) await rm(`${path}.${number}`, { force: true });
  return { release };
}

/** Returns the numbers that are taken, highest first. */
async function numbers(path: string): Promise<readonly number[]> {
  const prefix = `${basename(path)}.`;
  return (await namesIn(dirname(path)))
    .filter((name) => name.startsWith(prefix) && /^\d+$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)))
    .sort((a, b) => b - a);
}

async function holderOf(path: string, number: number): Promise<Holder | undefined> {
  const text = await readFile(`${path}.${number}`, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as Holder;
  } catch {
    return { pid: 0, startedAt: 'never', token: text }; // emptied by a power cut, which its holder did not survive
  }
}

async function isAlive(holder: Holder): Promise<boolean> {
  return (await startOfProcess(holder.pid)) === holder.startedAt;
}

async function take(path: string, number: number): Promise<boolean> {
  const token = randomUUID();
  const startedAt = await startOfProcess(process.pid);
  const draft = join(dirname(path), `.${basename(path)}-${token}`);
  await writeFile(draft, JSON.stringify({ pid: process.pid, startedAt, token }));
  try {
    await link(draft, `${path}.${number}`);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}
