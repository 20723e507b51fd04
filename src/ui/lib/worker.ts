import { count } from './text.ts';

/** A worker as of its last heartbeat, as `GET workers` answers it. */
export interface Worker {
  readonly id: string;
  /** The lease owner that its tasks show. */
  readonly name: string;
  /** Its given name; null: none. */
  readonly givenName: string | null;
  readonly host: string;
  readonly pid: number;
  readonly version: string | null;
  readonly status: 'live' | 'paused' | 'stopping' | 'silent' | 'lost' | 'stopped';
  readonly startedAt: string;
  readonly heartbeatAt: string;
  readonly stoppedAt: string | null;
  readonly pausedAt: string | null;
  readonly pausedBy?: string | null;
  readonly stopRequestedAt?: string | null;
  readonly stopRequestedBy?: string | null;
  readonly concurrency: number;
  /** Tasks in its slots, and claimed ahead. */
  readonly running: number;
  readonly ahead: number;
  /** Tasks that have exceeded their timeout. */
  readonly timedOut?: number;
  readonly pollMs: number | null;
  readonly leaseMs: number;
  readonly wantedLeaseMs?: number | null;
  readonly batch: string | number;
  /** Null: every queue. */
  readonly queues: readonly string[] | null;
  readonly types: readonly string[];
}

/** Whether it has ended: then it takes no order. */
export function hasEnded({ status }: Worker): boolean {
  return status === 'stopped' || status === 'lost';
}

/** How many slots of a worker are in use: `3 of 10`. */
export function slotsText({ running, concurrency }: Worker): string {
  return `${count(running)} of ${count(concurrency)}`;
}
