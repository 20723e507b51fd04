import type { FinishedStatus, LiveStatus } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';
import type { Obstacle } from './find-obstacles.ts';

export interface QueueStats {
  readonly queue: string;
  /** Live and dead tasks by status; 0 for a status without tasks. */
  readonly counts: Readonly<Record<LiveStatus | 'dead', number>>;
  /** Pending tasks whose time has come, and blocked ones whose group has a free slot, is paused or is held. */
  readonly due: number;
  /** Those of them that can run. */
  readonly depth: number;
  /** Null: none is due. */
  readonly oldest_waiting_ms: number | null;
  /** Pending tasks with a failed attempt. */
  readonly retrying: number;
  /** Running tasks that have exceeded their timeout: their handlers have not ended. */
  readonly timed_out: number;
  /** Tasks that ended in the period, by status. */
  readonly ended: Readonly<Record<FinishedStatus, number>>;
  readonly paused: boolean;
  /** The limit that keeps its tasks from starting: the maximum runs, or the rate allows the next start later. */
  readonly limited_by: 'max_running' | 'rate' | null;
}

export interface TypeStats {
  readonly type: string;
  /** Tasks that have not ended. */
  readonly live: number;
  /** Pending tasks whose time has come, and blocked ones whose group has a free slot, is paused or is held. */
  readonly due: number;
  /** Those of them that can run. */
  readonly depth: number;
  /** Dead letters, however old. */
  readonly dead: number;
  /** Tasks that ended in the period. */
  readonly completed: number;
  readonly cancelled: number;
  readonly expired: number;
  /** Mean run time of those that completed; null: none did. */
  readonly average_ms: number | null;
  /** Running tasks that have exceeded their timeout: their handlers have not ended. */
  readonly timed_out: number;
  /** Whether a live worker has a handler for it. */
  readonly handled: boolean;
}

/** Due tasks of a queue and a type that cannot start, and why: an obstacle of the task, or its stopped group. */
export interface Stalled extends Omit<Obstacle, 'reason'> {
  /** How many. */
  readonly due: number;
  /** `group_paused`: someone has paused their groups; `group_held`: their groups wait at a dead letter. */
  readonly reason: Obstacle['reason'] | 'group_paused' | 'group_held';
  /** The stopped group, if it is the only one. */
  readonly group: string | null;
}

export interface Stats {
  readonly at: string;
  readonly since: string;
  readonly queues: readonly QueueStats[];
  readonly types: readonly TypeStats[];
  readonly due: number;
  /** Due tasks that can run: neither queue nor group is paused or held, and a live, unpaused worker handles them. */
  readonly depth: number;
  readonly oldest_waiting_ms: number | null;
  readonly completed: number;
  readonly completed_per_minute: number;
  readonly unhandled_types: readonly string[];
  /** Due tasks that cannot start. */
  readonly stalled: readonly Stalled[];
  readonly workers: number;
}

/** Count tasks by queue, status and type, and those that ended within the last `sinceMs`. */
export async function stats(db: Queryable, sinceMs: number): Promise<Stats> {
  const rows = await db.query<{ stats: Stats }>({
    text: 'select taskq.stats($1) as stats',
    values: [sinceMs],
  });
  return rows[0]!.stats;
}
