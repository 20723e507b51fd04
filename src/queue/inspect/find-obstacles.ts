import type { Queryable } from '../../lib/database.ts';

/** Where a task waits, and for which handler. */
export interface Place {
  readonly queue: string;
  readonly type: string;
}

/** Why no live worker can take a due task of a queue and a type. */
export interface Obstacle extends Place {
  readonly reason: 'queue_paused' | 'no_worker' | 'queue_unserved' | 'type_unhandled' | 'pair_unserved';
}

/** The obstacles at these places; none at those where a live worker can take a task. */
export async function findObstacles(db: Queryable, places: readonly Place[]): Promise<Obstacle[]> {
  if (places.length === 0) return [];
  return db.query<Obstacle>({
    text: 'select queue, type, reason from taskq.find_obstacles($1, $2)',
    values: [places.map(({ queue }) => queue), places.map(({ type }) => type)],
  });
}
