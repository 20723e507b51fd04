import { hostname } from 'node:os';
import type { DEFAULT_SETTINGS, StoredSettings, TYPE_SETTINGS } from '../../domain/setting-tables.ts';
import type { Queryable } from '../../lib/database.ts';
import type { QueueSettings } from '../operate/set-queue.ts';

/** What a handler or the configuration sets for a type; absent: the default of its queue or the database applies. */
export type TypeSettings = StoredSettings<typeof TYPE_SETTINGS>;

/** What the configuration sets for all tasks. */
export type DefaultSettings = StoredSettings<typeof DEFAULT_SETTINGS>;

/** A setting of a type or a queue (both null: of all tasks) that another worker or an operator sets differently. */
export interface Difference {
  readonly type: string | null;
  readonly queue: string | null;
  readonly setting: string;
  /** This worker's value, as the database stores it; null: none. */
  readonly value: unknown;
  readonly other: unknown;
  /** The live worker that registered the other value; null: an operator set it. */
  readonly by: string | null;
}

/** The settings for tasks that a worker registers. */
export interface DeclaredSettings {
  readonly types: Readonly<Record<string, TypeSettings>>;
  /** For all tasks; undefined: it has no configuration. */
  readonly defaults?: DefaultSettings | undefined;
  /** By queue; undefined: like `defaults`. */
  readonly queueSettings?: Readonly<Record<string, QueueSettings>> | undefined;
}

export interface WorkerAbout extends DeclaredSettings {
  /** The name it was given. */
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
  /** Claim nothing until resumed. */
  readonly paused: boolean;
  /** The id that it had, if its row is gone; absent: a new one. */
  readonly workerId?: number;
}

export interface Registered {
  readonly workerId: number;
  /** Of the database: with it, the id of a task is unique among all databases. */
  readonly installation: string;
  /** The cursors of the live workers that handle at least the same types, in the form that each worker stored. */
  readonly cursors: readonly unknown[];
  /** Others have some of its settings locked, so not all are stored yet: call `reloadWorker`. */
  readonly typesLeft: boolean;
  readonly differing: readonly Difference[];
  /** Types whose `onComplete` and `onDead` are not stored. */
  readonly leftOut: readonly CallbacksLeftOut[];
}

export interface CallbacksLeftOut {
  readonly type: string;
  /** The types that would follow each other forever, or the right that the role lacks. */
  readonly fault: string;
}

/** Register this process as a worker, with the types that it handles. */
export async function registerWorker(db: Queryable, about: WorkerAbout): Promise<Registered> {
  const rows = await db.query<{
    worker_id: number;
    cursors: Registered['cursors'] | null;
    extra: {
      installation: string;
      types_left?: boolean;
      differing?: Difference[];
      left_out?: CallbacksLeftOut[];
    };
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
        worker_id: about.workerId,
      }),
    ],
  });
  const { worker_id: workerId, cursors, extra } = rows[0]!;
  return {
    workerId,
    installation: extra.installation,
    cursors: cursors ?? [],
    typesLeft: extra.types_left === true,
    differing: extra.differing ?? [],
    leftOut: extra.left_out ?? [],
  };
}

export interface Reloaded extends Pick<Registered, 'leftOut'> {
  /** False: others have some of it locked, and it is not stored yet. */
  readonly isStored: boolean;
}

/** Store what this worker handles after it has reloaded its handlers. */
export async function reloadWorker(
  db: Queryable,
  workerId: number,
  { types, defaults, queueSettings }: DeclaredSettings,
): Promise<Reloaded> {
  const rows = await db.query<{ stored: boolean; extra: { left_out?: CallbacksLeftOut[] } | null }>({
    text: 'select stored, extra from taskq.reload_worker($1, $2, $3)',
    values: [workerId, JSON.stringify(types), JSON.stringify({ defaults, queue_settings: queueSettings })],
  });
  const { stored: isStored, extra } = rows[0]!;
  return { isStored, leftOut: extra?.left_out ?? [] };
}

/** Record that this worker has ended in order. False: its row is locked or gone. */
export async function unregisterWorker(db: Queryable, workerId: number): Promise<boolean> {
  const rows = await db.query<{ stored: boolean }>({
    text: 'select taskq.unregister_worker($1) as stored',
    values: [workerId],
  });
  return rows[0]!.stored;
}
