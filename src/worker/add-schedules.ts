import { setTimeout as sleep } from 'node:timers/promises';
import { backingOffMs } from '../lib/backing-off.ts';
import type { Queryable } from '../lib/database.ts';
import { addMissingSchedules } from '../queue/operate/schedules.ts';
import type { WorkerState } from './worker-state.ts';

/** Add the schedules of the configuration that do not exist; one that an operator removed comes back with its worker. */
export async function addSchedules(db: Queryable, state: WorkerState): Promise<void> {
  const { schedules = [], events } = state.options;
  if (schedules.length === 0) return;
  const { stop } = state.shutdown;
  for (let failures = 1; !stop.aborted; failures++) {
    try {
      for (const schedule of await addMissingSchedules(db, schedules))
        events.event('schedule.added', { schedule });
      return;
    } catch (error) {
      state.onStatementFailed(error);
      await sleep(backingOffMs(failures, Math.random()), undefined, { signal: stop }).catch(() => {});
    }
  }
}
