import type { Queryable, Statement } from './database.ts';

/** A connection of the application's own, as `pg` makes them: all that is asked of it is to run a statement. */
export interface PgClient {
  query(statement: { text: string; values: unknown[] }): Promise<{ rows: unknown[] }>;
}

/** A `pg.Pool` of the application's own, used and never ended. */
export interface PgPool extends PgClient {
  /** What it makes its connections with; without them nothing can listen beside it. */
  readonly options?: object;
}

/** Run our statements on it: without names, for what it is connected to may be a pooler. */
export function queryableOf(client: PgClient): Queryable {
  return {
    async query<Row extends object>({ text, values = [] }: Statement): Promise<Row[]> {
      return (await client.query({ text, values: [...values] })).rows as Row[];
    },
  };
}
