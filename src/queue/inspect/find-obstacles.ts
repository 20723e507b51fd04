import type { Queryable } from '../../lib/database.ts';

/** The queue in which a task waits and the type whose handler it needs. */
export interface QueueAndType {
  readonly queue: string;
  readonly type: string;
}

/** Why no live worker can take a task. */
export type WorkerObstacle =
  | 'no_worker'
  | 'workers_stopping'
  | 'queue_unserved'
  | 'type_unhandled'
  | 'pair_unserved'
  | 'worker_paused';

/** Why a due task of a queue and a type cannot start. */
export interface Obstacle extends QueueAndType {
  readonly reason: 'queue_paused' | 'breaker_open' | WorkerObstacle;
  /** The id of the paused worker if no other could take the task. */
  readonly worker: number | null;
}

/** Find what obstructs tasks of these queues and types. A pair that a live worker can take has no obstacle. */
export async function findObstacles(db: Queryable, pairs: readonly QueueAndType[]): Promise<Obstacle[]> {
  if (pairs.length === 0) return [];
  return db.query<Obstacle>({
    text: 'select queue, type, reason, worker from taskq.find_obstacles($1, $2)',
    values: [pairs.map(({ queue }) => queue), pairs.map(({ type }) => type)],
  });
}
