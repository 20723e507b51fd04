import type { Queryable } from '../../lib/database.ts';
import type { FoundToken } from '../inspect/find-token.ts';
import type { Acting } from './acting.ts';

export interface NewToken extends Omit<FoundToken, 'queues'> {
  /** SHA-256, in hexadecimal digits. */
  readonly hash: string;
  readonly queues?: readonly string[] | undefined;
  readonly expiresMs?: number | undefined;
}

/** Add a token. False: there is one of this name. */
export async function addToken(
  db: Queryable,
  { name, hash, role, queues, expiresMs }: NewToken,
  { by, reason }: Acting = {},
): Promise<boolean> {
  const rows = await db.query<{ added: boolean }>({
    text: 'select taskq.add_token($1, $2, $3) as added',
    values: [name, hash, JSON.stringify({ role, queues, expires_ms: expiresMs, by, reason })],
  });
  return rows[0]!.added;
}

/** Remove a token. False: there is none of this name. */
export async function revokeToken(
  db: Queryable,
  name: string,
  { by, reason }: Acting = {},
): Promise<boolean> {
  const rows = await db.query<{ revoked: boolean }>({
    text: 'select taskq.revoke_token($1, $2) as revoked',
    values: [name, JSON.stringify({ by, reason })],
  });
  return rows[0]!.revoked;
}

/** Record that these tokens have just been used. */
export async function noteTokenUses(db: Queryable, hashes: readonly string[]): Promise<void> {
  await db.query({ text: 'select taskq.note_token_uses($1)', values: [hashes] });
}
