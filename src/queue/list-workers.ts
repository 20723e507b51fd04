import type { Queryable } from '../lib/database.ts';

/** A worker's row; times are ISO 8601. */
export interface ListedWorker {
  /** The number as text, as every id. */
  readonly id: string;
  /** What tasks show as `lease_owner`: `name:pid:unique`, or `host:pid:unique`. */
  readonly name: string;
  /** What `--name` said; null: nothing. */
  readonly given_name: string | null;
  readonly host: string;
  readonly pid: number;
  readonly version: string | null;
  /** `silent`: without a heartbeat for a lease. `lost`: it never came back. */
  readonly status: 'live' | 'paused' | 'stopping' | 'silent' | 'lost' | 'stopped';
  readonly started_at: string;
  readonly heartbeat_at: string;
  readonly stopped_at: string | null;
  readonly paused_at: string | null;
  readonly paused_by: string | null;
  readonly stop_requested_at: string | null;
  readonly stop_requested_by: string | null;
  readonly concurrency: number;
  /** In slots at its last heartbeat. */
  readonly running: number;
  /** Claimed ahead at its last heartbeat. */
  readonly ahead: number;
  readonly poll_ms: number | null;
  readonly lease_ms: number;
  /** Null: every queue. */
  readonly queues: readonly string[] | null;
  readonly types: readonly string[];
}

export interface WorkerFilter {
  /** Those that have ended, too. */
  readonly all?: true;
  /** Only those of this name, given or in full, or with this id. */
  readonly name?: string;
}

/** List up to `limit` workers, newest first, of those that started before the one with the id `after`. */
export async function listWorkers(
  db: Queryable,
  filter: WorkerFilter,
  limit: number,
  after: string | null = null,
): Promise<ListedWorker[]> {
  const rows = await db.query<{ worker: Omit<ListedWorker, 'id'> & { id: number } }>({
    text: "select to_jsonb(w) - 'extra' as worker from taskq.list_workers($1, $2, $3) as w",
    values: [limit, after, JSON.stringify(filter)],
  });
  return rows.map(({ worker }) => ({ ...worker, id: String(worker.id) }));
}
