import type { Queryable } from '../../lib/database.ts';

/** The owner of a token, and what it allows. */
export interface FoundToken {
  readonly name: string;
  readonly role: 'viewer' | 'producer' | 'operator' | 'admin';
  /** Names in which `*` stands for any text; null: every queue. */
  readonly queues: readonly string[] | null;
}

/** Find a token by its hash. Undefined: there is none, or it has expired. */
export async function findToken(db: Queryable, hash: string): Promise<FoundToken | undefined> {
  const [found] = await db.query<FoundToken>({
    text: 'select name, role, queues from taskq.find_token($1)',
    values: [hash],
  });
  return found;
}

/** Return those of these token hashes that are valid. */
export async function findTokens(db: Queryable, hashes: readonly string[]): Promise<string[]> {
  const rows = await db.query<{ hash: string }>({
    text: `select h.hash from unnest($1::text[]) as h (hash)
      where exists (select from taskq.find_token(h.hash))`,
    values: [hashes],
  });
  return rows.map(({ hash }) => hash);
}
