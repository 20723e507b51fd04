import type { Queryable } from '../../lib/database.ts';
import { findObstacles, type Obstacle, type QueueAndType } from '../../queue/inspect/find-obstacles.ts';
import type { TaskRow } from '../../queue/inspect/task-row.ts';
import { printable } from './printable.ts';

/** Describe why a due task does not start, as a sentence without a full stop. */
export function obstacleText({ queue, type, reason, worker }: Obstacle): string {
  const [shownQueue, shownType] = [printable(queue), printable(type)];
  switch (reason) {
    case 'queue_paused':
      return `queue ${shownQueue} is paused`;
    case 'breaker_open':
      return `the breaker of ${shownType} is open: see taskq types`;
    case 'no_worker':
      return 'no worker is running';
    case 'workers_stopping':
      return 'every worker is stopping';
    case 'queue_unserved':
      return `no worker serves queue ${shownQueue}`;
    case 'type_unhandled':
      return `no worker has a handler for ${shownType}`;
    case 'pair_unserved':
      return `no worker that serves queue ${shownQueue} has a handler for ${shownType}`;
    case 'worker_paused':
      return worker === null
        ? 'every worker that could take it is paused: see taskq workers'
        : `the only worker that could take it is paused: taskq workers resume ${worker}`;
    default:
      return reason satisfies never;
  }
}

/** Whether the task is due, and waits only for a worker, or for a slot of its group, which a worker gives out. */
export function isDue({ status, available_at, waits_for }: TaskRow, now: number): boolean {
  if (waits_for !== null) return waits_for === 'slot';
  return (status === 'pending' || status === 'blocked') && Date.parse(String(available_at)) <= now;
}

/**
 * Describe what keeps tasks of these queues and types from starting, a sentence for each reason; empty: nothing does.
 */
export async function obstaclesTo(db: Queryable, pairs: readonly QueueAndType[]): Promise<string[]> {
  return [...new Set((await findObstacles(db, pairs)).map(obstacleText))];
}
