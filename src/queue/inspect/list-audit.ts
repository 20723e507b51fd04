import type { Queryable } from '../../lib/database.ts';

/** Which actions to list: an action must fit every field that is given. */
export interface AuditFilter {
  /** ISO 8601, like `before`. */
  readonly since?: string | undefined;
  readonly before?: string | undefined;
  /** A role, or a name given with it; `ann` also finds `ann@laptop`. */
  readonly who?: string | undefined;
  readonly verb?: string | undefined;
  /** The application_name of the session. */
  readonly via?: string | undefined;
  /** The id of a task. */
  readonly task?: string | undefined;
  readonly queue?: string | undefined;
  readonly type?: string | undefined;
}

/** What a person did, as `taskq.list_audit` returns it. */
export interface AuditRow {
  readonly id: string;
  /** ISO 8601. */
  readonly at: string;
  readonly verb: string;
  readonly role: string;
  readonly by: string | null;
  readonly via: string | null;
  readonly task_ids: readonly string[] | null;
  readonly queue: string | null;
  readonly worker: string | null;
  readonly type: string | null;
  readonly filter: object | null;
  readonly before: object | null;
  readonly settings: Readonly<Record<string, unknown>> | null;
  readonly reason: string | null;
}

export interface AuditPage {
  readonly actions: readonly AuditRow[];
  /** Where the next page begins; null on the last page. */
  readonly nextAfter: string | null;
}

/** List what people did, newest first, below the id `after`; fewer than `limit` if they changed large payloads. */
export async function listAudit(
  db: Queryable,
  filter: AuditFilter,
  limit: number,
  after: string | null = null,
): Promise<AuditPage> {
  const rows = await db.query<{ action: AuditRow; is_full: boolean }>({
    text: `select to_jsonb(a) - 'extra' || jsonb_build_object('id', a.id::text, 'task_ids', a.task_ids::text[]) as action,
        a.extra @> '{"is_full": true}' is true as is_full
      from taskq.list_audit($1, $2, $3) as a`,
    values: [JSON.stringify(filter), limit, after],
  });
  const last = rows.at(-1);
  const isMore = last !== undefined && (last.is_full || rows.length === limit);
  return { actions: rows.map(({ action }) => action), nextAfter: isMore ? last.action.id : null };
}
