import type { ListedQueue } from '../queue/inspect/list-queues.ts';

export interface PauseSettings {
  /** Resume after this time, as text or in milliseconds; default: not before `resumeQueue`. */
  readonly for?: string | number;
  /** Reason for the record, shown with the queue. */
  readonly reason?: string;
  /** Name to record beside the session's role. */
  readonly by?: string;
}

/** The pause of a queue. */
export interface QueuePause {
  readonly queue: string;
  readonly since: Date;
  /** When it ends by itself; null: not before it is resumed. */
  readonly until: Date | null;
  /** Who paused it: the role of the session, with the name that was given. */
  readonly by: string | null;
  readonly reason: string | null;
}

/** Null: the queue is not paused. */
export function pauseOf(queue: ListedQueue): QueuePause | null {
  const { name, paused_at: since, paused_until: until, paused_by: by, pause_reason: reason } = queue;
  if (since === null) return null;
  return { queue: name, since: new Date(since), until: until === null ? null : new Date(until), by, reason };
}
