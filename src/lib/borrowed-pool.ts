import type { Queryable, Statement } from './database.ts';
import { typesWith } from './driver-types.ts';
import { areSendable, withLiterals } from './literal.ts';
import type { PgPool } from './pg-client.ts';
import { preludeFor } from './session.ts';
import type { SessionOptions } from './session-types.ts';

/**
 * Runs our statements on an application's pool, with limits. Each is one message that begins with our settings, so that
 * they hold for its transaction alone and the application's sessions stay as they are.
 */
export function borrowedPool(
  pool: PgPool,
  { parseJson, ...options }: SessionOptions & { readonly parseJson: (text: string) => unknown },
): Queryable {
  const prelude = preludeFor(options);
  const types = typesWith(parseJson);
  return {
    async query<Row extends object>({ text, values = [] }: Statement): Promise<Row[]> {
      if (!areSendable(values)) throw new TypeError('a value has a NUL character');
      const message = { text: prelude + withLiterals(text, values), values: [], types };
      const results = (await pool.query(message)) as unknown as readonly { readonly rows: Row[] }[];
      return results.at(-1)!.rows;
    },
  };
}
