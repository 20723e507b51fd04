import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

export interface AddedType {
  readonly name: string;
  /** False: it was already known. */
  readonly added: boolean;
}

/** Make types known before any worker registers them. Returns a row for each. */
export function addTypes(
  db: Queryable,
  names: readonly string[],
  { by, reason }: Acting = {},
): Promise<AddedType[]> {
  return db.query<AddedType>({
    text: 'select name, added from taskq.add_types($1, $2)',
    values: [names, JSON.stringify({ by, reason })],
  });
}
