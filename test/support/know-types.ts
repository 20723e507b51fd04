import type pg from 'pg';

/** Registers types, as a worker that handles them does when it starts. */
export async function knowTypes(client: pg.ClientBase, ...types: readonly string[]): Promise<void> {
  await client.query(
    `insert into taskq.task_types (name, first_seen_at, last_seen_at)
     select name, clock_timestamp(), clock_timestamp() from unnest($1::text[]) as name on conflict (name) do nothing`,
    [types],
  );
}
