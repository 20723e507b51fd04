import type { Queryable, Statement } from './database.ts';

/** The application's own connection, as `pg` makes it: all it needs is to run a statement. */
export interface PgClient {
  query(statement: { text: string; values: unknown[] }): Promise<{ rows: unknown[] }>;
}

/** The application's own `pg.Pool`, used and never ended. */
export interface PgPool extends PgClient {
  /** Its connection settings; without them we cannot open a session that listens. */
  readonly options?: object;
}

/** Runs our statements on it, never prepared by name: the connection may go through a pooler. */
export function queryableOf(client: PgClient): Queryable {
  return {
    async query<Row extends object>({ text, values = [] }: Statement): Promise<Row[]> {
      return (await client.query({ text, values: [...values] })).rows as Row[];
    },
  };
}
