import { backingOffMs } from '../lib/backing-off.ts';
import { isPassing, type Queryable } from '../lib/database.ts';
import { pause } from '../lib/pause.ts';
import { addMissingSchedules } from '../queue/operate/schedules.ts';
import type { WorkerState } from './worker-state.ts';

/** Retry a refused schedule after this long: someone must change something first. */
const REFUSED_MS = 60_000;

/**
 * Add the schedules of the configuration that do not exist; one that an operator removed comes back with its worker. A
 * schedule that the database refuses, or that another transaction is adding, does not delay the others.
 */
export async function addSchedules(db: Queryable, state: WorkerState): Promise<void> {
  const { events, options } = state;
  const { schedules = [] } = options.tasks;
  let missing = schedules;
  const { stop } = state.shutdown;
  for (let failures = 1; missing.length > 0 && !stop.aborted; failures++) {
    const left: (typeof missing)[number][] = [];
    let mayPass = false;
    for (const one of missing) {
      try {
        for (const schedule of await addMissingSchedules(db, [one]))
          events.event('schedule.added', { schedule });
      } catch (error) {
        state.onStatementFailed(error);
        left.push(one);
        mayPass ||= isPassing(error);
      }
    }
    missing = left;
    const waitMs = mayPass ? backingOffMs(failures, Math.random()) : REFUSED_MS;
    if (left.length > 0) await pause(waitMs, stop);
  }
}
