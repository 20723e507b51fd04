import type { NewSchedule } from '../../domain/schedule/definition.ts';
import { backingOffMs } from '../../lib/backing-off.ts';
import { isPassing, type Queryable } from '../../lib/database.ts';
import { pause } from '../../lib/pause.ts';
import { addMissingSchedules } from '../../queue/operate/schedules.ts';
import type { EventLog } from '../log/events.ts';

export interface AddSchedulesOptions {
  readonly db: Queryable;
  readonly events: EventLog;
  readonly stop: AbortSignal;
  /** A statement failed and will be sent again. */
  readonly onStatementFailed: (error: unknown) => void;
}

/** Retry a refused schedule after this long: someone must change something first. */
const REFUSED_MS = 60_000;

/**
 * Add the schedules of the configuration that do not exist; one that an operator removed comes back with its worker. A
 * schedule that the database refuses, or that another transaction is adding, does not delay the others.
 */
export async function addSchedules(
  schedules: readonly NewSchedule[],
  { db, events, stop, onStatementFailed }: AddSchedulesOptions,
): Promise<void> {
  let missing = schedules;
  for (let failures = 1; missing.length > 0 && !stop.aborted; failures++) {
    const left: NewSchedule[] = [];
    let mayPass = false;
    for (const one of missing) {
      try {
        for (const schedule of await addMissingSchedules(db, [one]))
          events.event('schedule.added', { schedule });
      } catch (error) {
        onStatementFailed(error);
        left.push(one);
        mayPass ||= isPassing(error);
      }
    }
    missing = left;
    const waitMs = mayPass ? backingOffMs(failures, Math.random()) : REFUSED_MS;
    if (left.length > 0) await pause(waitMs, stop);
  }
}
