import type { Queryable } from '../../lib/database.ts';

/** The dead letters that one bug has made, as `taskq.list_dead_groups` returns them. */
export interface DeadGroup {
  readonly fingerprint: string;
  readonly count: number;
  /** ISO 8601. */
  readonly first_at: string;
  readonly last_at: string;
  /** How many died in the last hour, and in the one before. */
  readonly last_hour: number;
  readonly hour_before: number;
  /** Those of the last letter. */
  readonly type: string;
  readonly error_name: string | null;
  readonly message: string | null;
  readonly reason: string;
  readonly last_id: string;
}

/** A group with the fields for paging. */
export interface DeadGroupOfPage extends DeadGroup {
  /** From where to read on. */
  readonly after: string;
  /** How many died in each of the last 24 hours, the earliest first; null: not requested. */
  readonly trend: readonly number[] | null;
}

export interface DeadGroupFilter {
  /** Only groups whose fingerprint begins like this. */
  readonly fingerprint?: string | undefined;
  /** Only letters of this queue. */
  readonly queue?: string | undefined;
  /** Only letters of these queues, as names in which `*` stands for any text; null: all. */
  readonly queues?: readonly string[] | null;
  readonly type?: string | undefined;
  /** The `after` of the last group of the page before. */
  readonly after?: string | undefined;
  readonly trend?: true;
}

/** List the groups of dead letters, the largest first. */
export async function listDeadGroups(
  db: Queryable,
  { limit = 100, fingerprint }: { readonly limit?: number; readonly fingerprint?: string | undefined } = {},
): Promise<DeadGroup[]> {
  const groups = await pageDeadGroups(db, { fingerprint }, limit);
  return groups.map(({ after: _, trend: __, ...group }) => group);
}

/** The same, page by page. */
export async function pageDeadGroups(
  db: Queryable,
  filter: DeadGroupFilter,
  limit: number,
): Promise<DeadGroupOfPage[]> {
  const rows = await db.query<{ dead_group: DeadGroupOfPage }>({
    text: `select to_jsonb(g) - 'extra' || g.extra || jsonb_build_object('last_id', g.last_id::text) as dead_group
      from taskq.list_dead_groups($1, $2) as g`,
    values: [limit, JSON.stringify(filter)],
  });
  return rows.map(({ dead_group: group }) => group);
}
