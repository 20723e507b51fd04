import type { Queryable } from '../../lib/database.ts';

/** Count the waiting tasks of a queue that are in no group; `at_least`: the count ran out of time. */
export async function countUngrouped(
  db: Queryable,
  queue: string,
): Promise<{ readonly waiting: number; readonly at_least: boolean }> {
  const rows = await db.query<{ waiting: string; at_least: boolean }>({
    text: "select waiting, (extra -> 'at_least')::boolean as at_least from taskq.count_ungrouped($1)",
    values: [queue],
  });
  const { waiting, at_least } = rows[0]!;
  return { waiting: Number(waiting), at_least };
}
