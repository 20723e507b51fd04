import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../../lib/database.ts';

/** A worker's row; times are ISO 8601. */
export interface ListedWorker {
  /** The number as text, like every id. */
  readonly id: string;
  /** What tasks show as `lease_owner`: `name:pid:unique`, or `host:pid:unique`. */
  readonly name: string;
  /** The value of `--name`; null: none was given. */
  readonly given_name: string | null;
  readonly host: string;
  readonly pid: number;
  readonly version: string | null;
  /** `silent`: no heartbeat for a lease. `lost`: it never came back. */
  readonly status: 'live' | 'paused' | 'stopping' | 'silent' | 'lost' | 'stopped';
  readonly started_at: string;
  readonly heartbeat_at: string;
  readonly stopped_at: string | null;
  readonly paused_at: string | null;
  readonly paused_by: string | null;
  readonly stop_requested_at: string | null;
  readonly stop_requested_by: string | null;
  readonly concurrency: number;
  /** Tasks in slots at its last heartbeat. */
  readonly running: number;
  /** Tasks claimed ahead at its last heartbeat. */
  readonly ahead: number;
  /** Running tasks that had exceeded their timeout at its last heartbeat: their handlers have not ended. */
  readonly timed_out: number;
  readonly poll_ms: number | null;
  /** The lease in force. */
  readonly lease_ms: number;
  /** The lease it will change to; null: no change is pending. */
  readonly wanted_lease_ms: number | null;
  readonly batch: 'auto' | number;
  /** Null: every queue. */
  readonly queues: readonly string[] | null;
  readonly types: readonly string[];
}

export interface WorkerFilter {
  /** Include workers that have ended. */
  readonly all?: true;
  /** Only workers with this name, given or in full, or with this id. */
  readonly name?: string;
}

/** List up to `limit` workers, newest first, that started before the one with the id `after`. */
export async function listWorkers(
  db: Queryable,
  filter: WorkerFilter,
  limit: number,
  after: string | null = null,
): Promise<ListedWorker[]> {
  return (await read(db, filter, limit, after)).map(({ worker }) => worker);
}

/** Request a new heartbeat from a worker whose last one is older than this. */
const FRESH_MS = 2000;
/** The longest wait for requested heartbeats: a worker may not receive notifications. */
const WAIT_MS = 1000;

/**
 * List workers as they are now, to within two seconds: asks each whose last heartbeat is older to send one. Shows a
 * worker that does not receive the request, or does not answer within a second, as of its last heartbeat.
 */
export async function listWorkersNow(
  db: Queryable,
  filter: WorkerFilter,
  limit: number,
  after: string | null = null,
): Promise<ListedWorker[]> {
  let found = await read(db, filter, limit, after);
  const isStale = ({ worker, silentMs }: Read) => isAlive(worker) && silentMs > FRESH_MS;
  if (found.some(isStale)) await db.query({ text: 'select taskq.notify_workers()' });
  for (let waitedMs = 0; waitedMs < WAIT_MS && found.some(isStale); waitedMs += 50) {
    await sleep(50);
    found = await read(db, filter, limit, after);
  }
  return found.map(({ worker }) => worker);
}

/** Whether recent heartbeats show that it runs: live, paused or stopping. */
export function isAlive({ status }: ListedWorker): boolean {
  return status === 'live' || status === 'paused' || status === 'stopping';
}

interface Read {
  readonly worker: ListedWorker;
  readonly silentMs: number;
}

async function read(
  db: Queryable,
  filter: WorkerFilter,
  limit: number,
  after: string | null,
): Promise<Read[]> {
  const rows = await db.query<{
    worker: Omit<ListedWorker, 'id' | 'batch' | 'wanted_lease_ms' | 'timed_out'> & { id: number };
    extra: { silent_ms: number; wanted_lease_ms: number | null; batch: number | null; timed_out: number };
  }>({
    text: "select to_jsonb(w) - 'extra' as worker, extra from taskq.list_workers($1, $2, $3) as w",
    values: [limit, after, JSON.stringify(filter)],
  });
  return rows.map(({ worker, extra: { silent_ms, wanted_lease_ms, batch, timed_out } }) => ({
    worker: { ...worker, id: String(worker.id), wanted_lease_ms, batch: batch ?? 'auto', timed_out },
    silentMs: silent_ms,
  }));
}
