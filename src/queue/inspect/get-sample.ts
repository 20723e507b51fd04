import type { Queryable } from '../../lib/database.ts';

/** How many live and dead tasks there were, and the sums of what has happened, by queue and type. */
export interface Sample {
  /** ISO 8601; null: no worker has taken a sample yet. */
  readonly sampled_at: string | null;
  readonly age_ms: number | null;
  /** The upper bounds of all buckets of `waits` and `runs` but the last, in milliseconds. */
  readonly bounds_ms: readonly number[];
  /** The largest first; those after the first `most` are one, with the names `_other`. */
  readonly pairs: readonly SampledPair[];
}

export interface SampledPair {
  readonly queue: string;
  readonly type: string;
  /** As of the sample. */
  readonly counts: Readonly<Record<'blocked' | 'pending' | 'leased' | 'running' | 'dead', number>>;
  readonly due: number;
  /** Since when the oldest due task is due; ISO 8601. */
  readonly oldest_at: string | null;
  /** What has happened so far. */
  readonly created: number;
  readonly revived: number;
  readonly ended: Readonly<Record<'completed' | 'cancelled' | 'expired' | 'dead', number>>;
  readonly attempts: Readonly<Record<'succeeded' | 'failed' | 'snoozed' | 'lost', number>>;
  /** How many attempts waited for up to each bound, and longer than the last. */
  readonly waits: readonly number[];
  readonly runs: readonly number[];
  readonly wait_ms: number;
  readonly run_ms: number;
}

/** Get the last sample, with the `most` largest queues and types. It reads no task. */
export async function getSample(db: Queryable, most: number): Promise<Sample> {
  const rows = await db.query<{ sample: Sample }>({
    text: 'select taskq.get_sample($1) as sample',
    values: [most],
  });
  return rows[0]!.sample;
}
