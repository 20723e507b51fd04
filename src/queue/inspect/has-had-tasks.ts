import type { Queryable } from '../../lib/database.ts';

/** No index covers the queues of history, so the search stops after this long. */
const LOOK_MS = 500;

/** Whether a queue has a task, live, finished or dead. Undefined: the search of history ran out of time. */
export async function hasHadTasks(db: Queryable, queue: string): Promise<boolean | undefined> {
  const until = performance.now() + LOOK_MS;
  let after: string | null = null;
  do {
    const [page]: { found: boolean; next_after: string | null }[] = await db.query({
      text: 'select jsonb_array_length(tasks) > 0 as found, next_after from taskq.find_tasks($1, 1, $2)',
      values: [JSON.stringify({ queue }), after],
    });
    if (page!.found) return true;
    after = page!.next_after;
  } while (after !== null && performance.now() < until);
  return after === null ? false : undefined;
}
