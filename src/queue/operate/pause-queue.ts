import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

export interface Pause extends Acting {
  /** Null: until resumed. */
  readonly forMs: number | null;
}

/** Stop claims from a queue. True: nothing was known of a queue of this name before. */
export async function pauseQueue(db: Queryable, queue: string, pause: Pause): Promise<boolean> {
  const rows = await db.query<{ is_new: boolean }>({
    text: 'select taskq.pause_queue($1, $2, $3, $4) as is_new',
    values: [queue, pause.by ?? null, pause.reason ?? null, pause.forMs],
  });
  return rows[0]!.is_new;
}

/** Resume a paused queue. False: it was not paused. */
export async function resumeQueue(
  db: Queryable,
  queue: string,
  { by, reason }: Acting = {},
): Promise<boolean> {
  const rows = await db.query<{ resumed: boolean }>({
    text: 'select taskq.resume_queue($1, $2) as resumed',
    values: [queue, JSON.stringify({ by, reason })],
  });
  return rows[0]!.resumed;
}
