import type { Queryable } from '../lib/database.ts';
import type { Acting } from './acting.ts';

export interface Pause extends Acting {
  readonly reason: string | null;
  /** Null: until resumed. */
  readonly forMs: number | null;
}

/** Let no claim take from a queue any more. */
export async function pauseQueue(db: Queryable, queue: string, pause: Pause): Promise<void> {
  await db.query({
    text: 'select taskq.pause_queue($1, $2, $3, $4)',
    values: [queue, pause.by ?? null, pause.reason, pause.forMs],
  });
}

/** Let a paused queue go on. False: it was not paused. */
export async function resumeQueue(db: Queryable, queue: string, { by }: Acting = {}): Promise<boolean> {
  const rows = await db.query<{ resumed: boolean }>({
    text: 'select taskq.resume_queue($1, $2) as resumed',
    values: [queue, JSON.stringify({ by })],
  });
  return rows[0]!.resumed;
}
