import type { Queryable } from '../../lib/database.ts';
import { findObstacles, type Obstacle, type Place } from '../../queue/inspect/find-obstacles.ts';
import type { TaskRow } from '../../queue/inspect/task-row.ts';
import { printable } from './printable.ts';

/** Say why a task that is due does not start, as a sentence without its end. */
export function obstacleText({ queue, type, reason }: Obstacle): string {
  const [shownQueue, shownType] = [printable(queue), printable(type)];
  switch (reason) {
    case 'queue_paused':
      return `queue ${shownQueue} is paused`;
    case 'no_worker':
      return 'no worker is running';
    case 'queue_unserved':
      return `no worker serves queue ${shownQueue}`;
    case 'type_unhandled':
      return `no worker has a handler for ${shownType}`;
    case 'pair_unserved':
      return `no worker that serves queue ${shownQueue} has a handler for ${shownType}`;
    default:
      return reason satisfies never;
  }
}

/** Whether only the want of a worker can keep a task from starting. */
export function isDue({ status, available_at }: TaskRow, now: number): boolean {
  return status === 'pending' && Date.parse(String(available_at)) <= now;
}

/** Say what keeps tasks at these places from starting: a sentence for each reason, none where workers can take them all. */
export async function obstaclesTo(db: Queryable, places: readonly Place[]): Promise<string[]> {
  return [...new Set((await findObstacles(db, places)).map(obstacleText))];
}
