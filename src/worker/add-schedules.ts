import { setTimeout as sleep } from 'node:timers/promises';
import { backingOffMs } from '../lib/backing-off.ts';
import type { Queryable } from '../lib/database.ts';
import { addMissingSchedules } from '../queue/operate/schedules.ts';
import type { WorkerState } from './worker-state.ts';

/**
 * Add the schedules of the configuration that do not exist; one that an operator removed comes back with its worker. One
 * that the database refuses, or that another transaction is adding, keeps no other from being added.
 */
export async function addSchedules(db: Queryable, state: WorkerState): Promise<void> {
  const { schedules = [], events } = state.options;
  let missing = schedules;
  const { stop } = state.shutdown;
  for (let failures = 1; missing.length > 0 && !stop.aborted; failures++) {
    const left: (typeof missing)[number][] = [];
    for (const one of missing) {
      try {
        for (const schedule of await addMissingSchedules(db, [one]))
          events.event('schedule.added', { schedule });
      } catch (error) {
        state.onStatementFailed(error);
        left.push(one);
      }
    }
    missing = left;
    if (left.length > 0)
      await sleep(backingOffMs(failures, Math.random()), undefined, { signal: stop }).catch(() => {});
  }
}
