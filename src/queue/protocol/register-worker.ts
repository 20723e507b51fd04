import { hostname } from 'node:os';
import type { Queryable } from '../../lib/database.ts';
import type { QueueSettings } from '../operate/set-queue.ts';

/** What a handler or the configuration says of a type; absent: its queue's or the database's default applies. */
export interface TypeSettings {
  readonly max_attempts?: number;
  readonly timeout_ms?: number;
  /** How long a task may wait that is enqueued without saying it. */
  readonly expires_ms?: number;
  /** As stored; see `taskq.backoff_delay_ms`. */
  readonly backoff?: object;
  readonly retention?: string;
  /** Where a task goes that is enqueued without one. */
  readonly queue?: string;
  readonly priority?: number;
}

/** A setting of a type or a queue (both null: of all) that somebody else sets otherwise. */
export interface Difference {
  readonly type: string | null;
  readonly queue: string | null;
  readonly setting: string;
  /** What this worker says, as the database keeps it; null: nothing. */
  readonly value: unknown;
  readonly other: unknown;
  /** The live worker that registered the other one; null: an operator has set it. */
  readonly by: string | null;
}

/** What a worker says of tasks. */
export interface Sayings {
  readonly types: Readonly<Record<string, TypeSettings>>;
  /** Of all tasks; undefined: it has no configuration that could say something. */
  readonly defaults?: TypeSettings | undefined;
  /** By queue; undefined: as of `defaults`. */
  readonly queueSettings?: Readonly<Record<string, QueueSettings>> | undefined;
}

export interface WorkerAbout extends Sayings {
  /** What it was told to call itself. */
  readonly name: string | undefined;
  readonly uniquePart: string;
  readonly version: string;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  /** Tasks in one claim; absent: auto. */
  readonly batch?: 'auto' | number;
  /** Null: every queue. */
  readonly queues: readonly string[] | null;
  /** It is to claim nothing until resumed. */
  readonly paused: boolean;
}

export interface Registered {
  readonly workerId: number;
  /** The cursors of the live workers that handle at least the same types, as whatever worker stored them. */
  readonly cursors: readonly unknown[];
  /** Some of what it says is locked by others and not stored yet: `reloadWorker` is to be asked. */
  readonly typesLeft: boolean;
  readonly differing: readonly Difference[];
}

/** Register this process as a worker, and what it handles. */
export async function registerWorker(db: Queryable, about: WorkerAbout): Promise<Registered> {
  const rows = await db.query<{
    worker_id: number;
    cursors: Registered['cursors'] | null;
    extra: { types_left?: boolean; differing?: Difference[] } | null;
  }>({
    text: 'select worker_id, cursors, extra from taskq.register_worker($1)',
    values: [
      JSON.stringify({
        name: about.name,
        host: hostname(),
        pid: process.pid,
        unique_part: about.uniquePart,
        version: about.version,
        concurrency: about.concurrency,
        lease_ms: about.leaseMs,
        poll_ms: about.pollMs,
        batch: typeof about.batch === 'number' ? about.batch : null,
        types: about.types,
        defaults: about.defaults,
        queue_settings: about.queueSettings,
        queues: about.queues,
        paused: about.paused,
      }),
    ],
  });
  const { worker_id: workerId, cursors, extra } = rows[0]!;
  return {
    workerId,
    cursors: cursors ?? [],
    typesLeft: extra?.types_left === true,
    differing: extra?.differing ?? [],
  };
}

/**
 * Say that this worker has loaded its handlers anew, and what it handles from now on. False: others have some of it
 * locked, and it is not stored yet.
 */
export async function reloadWorker(
  db: Queryable,
  workerId: number,
  { types, defaults, queueSettings }: Sayings,
): Promise<boolean> {
  const rows = await db.query<{ stored: boolean }>({
    text: 'select taskq.reload_worker($1, $2, $3) as stored',
    values: [workerId, JSON.stringify(types), JSON.stringify({ defaults, queue_settings: queueSettings })],
  });
  return rows[0]!.stored;
}

/** Say that this worker has ended in order. False: its row is locked, or gone. */
export async function unregisterWorker(db: Queryable, workerId: number): Promise<boolean> {
  const rows = await db.query<{ stored: boolean }>({
    text: 'select taskq.unregister_worker($1) as stored',
    values: [workerId],
  });
  return rows[0]!.stored;
}
