import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { TaskqError } from '../lib/errors.ts';
import type { Layout } from './layout.ts';
import { type Lock, tryLock } from './lock.ts';

/** Longer than a start with a long recovery before it. */
const LIMIT_MS = 150_000;

/**
 * Runs `work` while no other process starts, stops or deletes the server of this layout. A dead process holds no lock.
 * Throws TaskqError if another process holds the lock for longer than any start takes.
 */
export async function underStartLock<T>(layout: Layout, work: () => Promise<T>): Promise<T> {
  const lock = await waitForLock(join(layout.stateDir, 'start.lock'));
  try {
    return await work();
  } finally {
    await lock.release();
  }
}

async function waitForLock(path: string): Promise<Lock> {
  const deadline = performance.now() + LIMIT_MS;
  for (;;) {
    const found = await tryLock(path);
    if (found && 'release' in found) return found;
    if (performance.now() > deadline) {
      const who = found ? `Process ${found.pid}` : 'Another process';
      throw new TaskqError(
        'embedded_locked',
        `${who} has been starting the local database for too long (${path}.*)`,
        {
          hint: found ? `Check what process ${found.pid} is doing, or end it, and try again` : 'Try again',
        },
      );
    }
    await sleep(5 + Math.random() * 15);
  }
}
