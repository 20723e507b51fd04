import type { Queryable } from '../../lib/database.ts';
import type { FoundToken } from './find-token.ts';

/** A token. Times are ISO 8601. */
export interface ListedToken extends FoundToken {
  readonly created_at: string;
  readonly created_by: string;
  /** Null: never. */
  readonly expires_at: string | null;
  /** As recorded by servers that take writes, some seconds late; null: never. */
  readonly last_used_at: string | null;
}

/** List the tokens by name, also expired ones. */
export async function listTokens(db: Queryable): Promise<ListedToken[]> {
  const rows = await db.query<{ token: ListedToken }>({
    text: "select to_jsonb(t) - 'extra' || t.extra as token from taskq.list_tokens() as t",
  });
  return rows.map(({ token }) => token);
}
