import type { Queryable } from '../../lib/database.ts';

/** What a dashboard shows about the server besides the tasks. */
export interface Vitals {
  /** The number of the release of the functions. */
  readonly release: number;
  readonly paused_queues: readonly string[];
  /** Age of the oldest transaction that delays vacuum; null: there is none, or none that we may see. */
  readonly xmin_age_ms: number | null;
  /** How full the queue of notifications is, 0 to 1. */
  readonly notification_queue_ratio: number;
  /** Null: there is no standby, or none that we may see. */
  readonly replica_lag_ms: number | null;
}

/** Get them, with at most `most` paused queues. It reads no task. */
export async function getVitals(db: Queryable, most: number): Promise<Vitals> {
  const rows = await db.query<{ vitals: Vitals }>({
    text: 'select taskq.get_vitals($1) as vitals',
    values: [most],
  });
  return rows[0]!.vitals;
}
