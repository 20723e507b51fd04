import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** What became of a step that had died, or was to be cancelled. */
export interface RetriedStep {
  /** Its name; null: it is no step but the workflow's task of `onStep`, which adds the next one. */
  readonly step: string | null;
  readonly task_id: string;
  /**
   * `ending`: it still runs, and goes on unless its handler ends because it was asked to; `gone`: nothing is known of its
   * task any longer; `refused`: by the database.
   */
  readonly answer: 'retried' | 'ending' | 'key_held' | 'gone' | 'refused';
  /** The key that is held; null: its key is free. */
  readonly key: string | null;
  /** The task that has its key now or holds it for a period; null: its key is free. */
  readonly holder: string | null;
  /** Why the database has refused it. */
  readonly error: string | null;
}

/**
 * Run the dead steps of a workflow again: see `taskq.retry_workflow`. Empty: none has died or been asked to end, or
 * there is no workflow.
 */
export function retryWorkflow(db: Queryable, id: string, { by, reason }: Acting): Promise<RetriedStep[]> {
  return db.query<RetriedStep>({
    text: `select step, task_id, answer, extra ->> 'key' as key, extra ->> 'holder' as holder, extra ->> 'error' as error
      from taskq.retry_workflow($1, $2)`,
    values: [id, JSON.stringify({ by, reason })],
  });
}
