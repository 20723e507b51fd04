import type { Queryable } from '../lib/database.ts';

/** What a worker has to know before it claims. */
export interface Survey {
  /** The queues that have a live task, by name. */
  readonly queues: readonly string[];
  readonly typeTimeouts: Readonly<Record<string, number>>;
  readonly queueTimeouts: Readonly<Record<string, number>>;
  /** Null: an attempt may take for ever. */
  readonly timeoutMs: number | null;
}

/** Look which queues have tasks and which timeouts apply. */
export async function survey(db: Queryable, types: readonly string[]): Promise<Survey> {
  const rows = await db.query<{
    survey: {
      queues: string[];
      type_timeouts: Record<string, number>;
      queue_timeouts: Record<string, number>;
      timeout_ms: number | null;
    };
  }>({ name: 'taskq_survey', text: 'select taskq.survey($1) as survey', values: [types] });
  const found = rows[0]!.survey;
  return {
    queues: found.queues,
    typeTimeouts: found.type_timeouts,
    queueTimeouts: found.queue_timeouts,
    timeoutMs: found.timeout_ms,
  };
}
