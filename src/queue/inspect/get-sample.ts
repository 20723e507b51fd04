import type { Queryable } from '../../lib/database.ts';

/** How many live and dead tasks there were, and the sums of what has happened, by queue and type. */
export interface Sample {
  /** ISO 8601; null: no worker has taken a sample yet. */
  readonly sampled_at: string | null;
  readonly age_ms: number | null;
  /** The upper bounds of all buckets of `waits` and `runs` but the last, in milliseconds. */
  readonly bounds_ms: readonly number[];
  /** The largest first; those after the first `most` are summed up as one, with the names `_other`. */
  readonly pairs: readonly SampledPair[];
  /** How many groups of dead letters there are; null: the sample is of some queues. */
  readonly dead_groups: number | null;
  /** The types of waiting tasks that no live worker handles, and how many wait; like pairs, at most `most`. */
  readonly unhandled: readonly { readonly type: string; readonly tasks: number }[];
  /** Null: the sample is of some queues. */
  readonly workers: WorkerCounts | null;
}

/** The workers that have not ended, as of their last heartbeats. */
export interface WorkerCounts extends Readonly<Record<'live' | 'paused' | 'stopping' | 'silent', number>> {
  /** The slots of all workers except silent ones. */
  readonly slots: number;
  readonly busy: number;
  /** The longest time since the heartbeat of one that is not silent; null: there is none. */
  readonly heartbeat_delay_ms: number | null;
  /** Leases that workers have lost. */
  readonly leases_lost: number;
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

export interface SampleFilter {
  /** Only these queues, as names in which `*` stands for any text; null: all. */
  readonly queues?: readonly string[] | null;
  /** Only a sample that is later than this one. */
  readonly after?: string | null;
}

/** Get the last sample, with the `most` largest queues and types; null: there is no later one. It reads no task. */
export async function getSample(db: Queryable, most: number): Promise<Sample>;
export async function getSample(db: Queryable, most: number, filter: SampleFilter): Promise<Sample | null>;
export async function getSample(
  db: Queryable,
  most: number,
  { queues = null, after = null }: SampleFilter = {},
): Promise<Sample | null> {
  const rows = await db.query<{ sample: Sample | null }>({
    text: 'select taskq.get_sample($1, $2, $3) as sample',
    values: [most, queues, after],
  });
  return rows[0]!.sample;
}
