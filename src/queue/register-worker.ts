import { hostname } from 'node:os';
import type { Queryable } from '../lib/database.ts';

/** What a handler or the configuration says of a type; absent: its queue's or the database's default applies. */
export interface TypeSettings {
  readonly max_attempts?: number;
  readonly timeout_ms?: number;
  /** As stored; see `taskq.backoff_delay_ms`. */
  readonly backoff?: object;
  readonly retention?: string;
}

export interface WorkerAbout {
  readonly name: string | undefined;
  readonly uniquePart: string;
  readonly version: string;
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly pollMs: number;
  readonly types: Readonly<Record<string, TypeSettings>>;
  /** Null: every queue. */
  readonly queues: readonly string[] | null;
  /** It is to claim nothing until resumed. */
  readonly paused: boolean;
}

export interface Registered {
  readonly workerId: number;
  /** The cursors of the live workers that handle at least the same types. */
  readonly cursors: readonly Readonly<Record<string, readonly (number | null)[]>>[];
}

/** Register this process as a worker, and what it handles. */
export async function registerWorker(db: Queryable, about: WorkerAbout): Promise<Registered> {
  const rows = await db.query<{ worker_id: number; cursors: Registered['cursors'] | null }>({
    text: 'select worker_id, cursors from taskq.register_worker($1)',
    values: [
      JSON.stringify({
        host: about.name ?? hostname(),
        pid: process.pid,
        unique_part: about.uniquePart,
        version: about.version,
        concurrency: about.concurrency,
        lease_ms: about.leaseMs,
        poll_ms: about.pollMs,
        types: about.types,
        queues: about.queues,
        paused: about.paused,
      }),
    ],
  });
  return { workerId: rows[0]!.worker_id, cursors: rows[0]!.cursors ?? [] };
}

/** Say that this worker has loaded its handlers anew, and what it handles from now on. */
export async function reloadWorker(
  db: Queryable,
  workerId: number,
  types: Readonly<Record<string, TypeSettings>>,
): Promise<void> {
  await db.query({ text: 'select taskq.reload_worker($1, $2)', values: [workerId, JSON.stringify(types)] });
}

/** Say that this worker has ended in order. */
export async function unregisterWorker(db: Queryable, workerId: number): Promise<void> {
  await db.query({ text: 'select taskq.unregister_worker($1)', values: [workerId] });
}
