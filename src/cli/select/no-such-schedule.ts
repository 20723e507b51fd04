import type { Queryable } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { allSchedules } from '../../queue/operate/schedules.ts';
import { printable } from '../present/printable.ts';

/** The error for a schedule that does not exist, with the nearest name. */
export async function noSuchSchedule(db: Queryable, name: string): Promise<TaskqError> {
  const names = (await allSchedules(db)).map((schedule) => schedule.name);
  return new TaskqError(
    'no_such_schedule',
    `no schedule ${printable(JSON.stringify(name))}${didYouMean(name, names)}`,
    {
      hint: 'see taskq schedule list',
    },
  );
}
