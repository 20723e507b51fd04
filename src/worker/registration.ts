import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../lib/database.ts';
import { reloadWorker, unregisterWorker } from '../queue/register-worker.ts';
import { settingsOf } from './load-handlers.ts';
import type { WorkerState } from './worker-state.ts';

/** Ask again for what others had locked when the worker registered, or loaded its handlers anew. */
export async function storeTypes(db: Queryable, state: WorkerState): Promise<void> {
  const { unstored } = state;
  if (unstored === undefined) return;
  const isStored = await reloadWorker(db, state.workerId, settingsOf(unstored));
  if (isStored && state.unstored === unstored) state.unstored = undefined;
}

const TRIES = 10;
const BETWEEN_TRIES_MS = 100;

/** Say that the worker has ended. Where its row stays locked for a second, others write it off as silent. */
export async function unregister(db: Queryable, workerId: number): Promise<void> {
  for (let tried = 0; tried < TRIES && !(await unregisterWorker(db, workerId)); tried++) {
    await sleep(BETWEEN_TRIES_MS);
  }
}
