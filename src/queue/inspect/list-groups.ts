import type { Queryable } from '../../lib/database.ts';
import type { Cause } from './explain-task.ts';

/** A group of a queue. Times are ISO 8601. */
export interface ListedGroup {
  readonly name: string;
  /** Its own limit; null: its queue's applies. */
  readonly group_limit: number | null;
  /** The limit in force; 0: the group is stopped; null: none. */
  readonly slots: number | null;
  /** Those in force; null: none. */
  readonly rate: string | null;
  readonly burst: number | null;
  /** Tasks that have a slot, wait for one, or wait for their time first. */
  readonly holding: number;
  readonly waiting: number;
  readonly delayed: number;
  /** Null: not paused. */
  readonly paused_at: string | null;
  readonly paused_by: string | null;
  readonly pause_reason: string | null;
  /** What stops it; empty: nothing. */
  readonly stops: readonly GroupStop<string>[];
}

/** What stops a group; `Time` as in `Cause`. */
export type GroupStop<Time> = Extract<Cause<Time>, { readonly cause: 'group_paused' | 'group_held' }>;

export interface GroupPage {
  /** Only groups after this one. */
  readonly after?: string | undefined;
  readonly limit?: number;
  /** Only those that are paused, held at a dead letter, or put off by one of their tasks. */
  readonly stopped?: boolean | undefined;
}

/** List groups of a queue that have a live task, a setting of their own or a pause, in order. */
export async function listGroups(
  db: Queryable,
  queue: string,
  { after = '', limit = 100, stopped = false }: GroupPage = {},
): Promise<ListedGroup[]> {
  const rows = await db.query<{ found: ListedGroup }>({
    text: `select to_jsonb(g) - 'extra' || jsonb_build_object('stops', coalesce(g.extra -> 'stops', '[]')) as found
      from taskq.list_groups($1, $2, $3, $4) as g`,
    values: [queue, after, limit, JSON.stringify({ stopped })],
  });
  return rows.map(({ found }) => found);
}
