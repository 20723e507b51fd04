import { badOption } from './bad-option.ts';
import type { Queryable, Statement } from './database.ts';

/** The application's own connection, as `pg` makes it: all it needs is to run a statement. Never a pool. */
export interface PgClient {
  query(statement: { text: string; values: unknown[] }): Promise<{ rows: unknown[] }>;
  /** Of a pool, each of whose statements may run on another connection. */
  readonly totalCount?: never;
}

/** The application's own `pg.Pool`, used and never ended. */
export interface PgPool extends Pick<PgClient, 'query'> {
  /** Its connection settings; without them we cannot open a session that listens. */
  readonly options?: object;
}

/**
 * Runs our statements on the application's connection, in its transaction. Throws TaskqError `bad_option` for what is
 * not a client, and for a pool, whose statements would run outside it.
 */
export function queryableOf(client: PgClient): Queryable {
  if (typeof client?.query !== 'function')
    throw badOption('client has no function query', 'pass a client of pg, such as pool.connect() returns');
  if (typeof client.totalCount === 'number')
    throw badOption(
      'client is a pool: its statements run outside your transaction',
      'pass the client that pool.connect() returned',
    );
  return unprepared(client);
}

/** Runs our statements on the application's pool, each in a transaction of its own. */
export function queryableOfPool(pool: PgPool): Queryable {
  return unprepared(pool);
}

/** Never prepares by name: the connection may go through a pooler. */
function unprepared(client: Pick<PgClient, 'query'>): Queryable {
  return {
    async query<Row extends object>({ text, values = [] }: Statement): Promise<Row[]> {
      return (await client.query({ text, values: [...values] })).rows as Row[];
    },
  };
}
