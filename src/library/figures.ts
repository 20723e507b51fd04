import type { QueueStats, Stalled, Stats, TypeStats } from '../queue/inspect/stats.ts';

/** The queues in figures, as `taskq stats` shows them. */
export interface Figures {
  /** When they were taken. */
  readonly at: Date;
  /** The beginning of the period for ended tasks. */
  readonly since: Date;
  /** By queue: those with a live or dead task, or one that ended in the period. */
  readonly queues: readonly QueueFigures[];
  /** By type, likewise. */
  readonly types: readonly TypeFigures[];
  /** Pending tasks whose time has come, and blocked ones whose group has a free slot, is paused or is held. */
  readonly due: number;
  /** Those that can run: neither queue nor group is paused or held, and a live, unpaused worker handles them. */
  readonly depth: number;
  /** Milliseconds that the first of the due tasks has waited; null: none is due. */
  readonly oldestWaitingMs: number | null;
  /** Tasks that completed in the period. */
  readonly completed: number;
  /** The same per minute, counted from the start of the first of them, but over a minute at least. */
  readonly completedPerMinute: number;
  /** Types of due tasks that no live worker handles. */
  readonly unhandledTypes: readonly string[];
  /** Due tasks that cannot start, and why. */
  readonly stalled: readonly Stalled[];
  /** Live workers. */
  readonly workers: number;
}

export interface QueueFigures extends Omit<QueueStats, 'oldest_waiting_ms' | 'timed_out' | 'limited_by'> {
  /** Null: none is due. */
  readonly oldestWaitingMs: number | null;
  /** Running tasks that have exceeded their timeout: their handlers have not ended. */
  readonly timedOut: number;
  /** The limit that keeps its tasks from starting: the maximum runs, or the rate allows the next start later. */
  readonly limitedBy: 'max_running' | 'rate' | null;
}

export interface TypeFigures extends Omit<TypeStats, 'average_ms' | 'timed_out'> {
  /** Mean run time of those that completed; null: none did. */
  readonly averageMs: number | null;
  /** Running tasks that have exceeded their timeout: their handlers have not ended. */
  readonly timedOut: number;
}

/** Converts the answer of `taskq.stats`. */
export function figuresOf(stats: Stats): Figures {
  return {
    at: new Date(stats.at),
    since: new Date(stats.since),
    queues: stats.queues.map(queueFiguresOf),
    types: stats.types.map(typeFiguresOf),
    due: stats.due,
    depth: stats.depth,
    oldestWaitingMs: stats.oldest_waiting_ms,
    completed: stats.completed,
    completedPerMinute: stats.completed_per_minute,
    unhandledTypes: stats.unhandled_types,
    stalled: stats.stalled,
    workers: stats.workers,
  };
}

function queueFiguresOf({ oldest_waiting_ms, timed_out, limited_by, ...same }: QueueStats): QueueFigures {
  return { ...same, oldestWaitingMs: oldest_waiting_ms, timedOut: timed_out, limitedBy: limited_by };
}

function typeFiguresOf({ average_ms, timed_out, ...same }: TypeStats): TypeFigures {
  return { ...same, averageMs: average_ms, timedOut: timed_out };
}
