import { randomUUID } from 'node:crypto';
import { link, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { namesIn } from './files.ts';
import { startOfProcess } from './processes.ts';

/** A lock that this process holds. */
export interface Lock {
  release(): Promise<void>;
}

/** Who holds a lock, or held it when it died. */
export interface Holder {
  readonly pid: number;
  /** When that process started, for its pid may be another's by now. */
  readonly startedAt: string;
  /** Tells two locks of one process apart. */
  readonly token: string;
}

/**
 * Tries to take the lock `<path>.<n>` and returns it, or who holds it now, or undefined when it is worth trying
 * again at once.
 *
 * The highest number holds. A number is taken by a hard link, which fails if it is there and shows the file only
 * with its content. The lock of a dead process is not removed and taken anew (of two that see it dead, the slower
 * would remove the lock of the faster) but followed by the next number; that counts only if, afterwards, the dead
 * one is still in its place: else somebody else has followed it and is done, or is at work under another number.
 * Only the holder removes lower numbers.
 */
export async function tryLock(path: string): Promise<Lock | Holder | undefined> {
  const [top] = await numbers(path);
  const last = top === undefined ? undefined : await holderOf(path, top);
  if (top !== undefined && last === undefined) return undefined; // released while we looked
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

/** The numbers that are taken, highest first. */
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
