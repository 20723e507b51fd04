import type { Queryable } from '../../lib/database.ts';

/** How long a queue keeps its dead letters, and which level sets it. */
export interface DeadRetention {
  /** `ever`, or days such as `90d`. */
  readonly value: string;
  readonly from: string;
}

/** Get how long a queue keeps the dead letters that were not added by hand. */
export async function deadRetention(db: Queryable, queue: string): Promise<DeadRetention> {
  // The number of waiting tasks is not needed, so list_queues gets no time to count them.
  const text = `
    select (
      select q.dead_retention from taskq.list_queues(jsonb_build_object('name', $1::text, 'count_ms', 0)) as q
    ) as of_queue, taskq.get_defaults() #>> '{dead_retention,value}' as of_defaults`;
  const rows = await db.query<{ of_queue: string | null; of_defaults: string | null }>({
    text,
    values: [queue],
  });
  const { of_queue: own, of_defaults: fallback } = rows[0]!;
  return own === null ? { value: fallback ?? 'ever', from: 'defaults' } : { value: own, from: 'queue' };
}
