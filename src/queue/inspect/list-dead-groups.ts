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

/** List the groups of dead letters, the largest first; `fingerprint`: only those that begin like this. */
export async function listDeadGroups(
  db: Queryable,
  { limit = 100, fingerprint }: { readonly limit?: number; readonly fingerprint?: string | undefined } = {},
): Promise<DeadGroup[]> {
  const rows = await db.query<{ dead_group: DeadGroup }>({
    text: `select to_jsonb(g) - 'extra' || jsonb_build_object('last_id', g.last_id::text) as dead_group
      from taskq.list_dead_groups($1, $2) as g`,
    values: [limit, JSON.stringify({ fingerprint })],
  });
  return rows.map(({ dead_group: group }) => group);
}
