import type { Queryable } from '../../lib/database.ts';
import type { Acting } from './acting.ts';

/** The result for a step that had died, or had a cancel request. */
export interface RetriedStep {
  /** Its name; null: it is not a step but the workflow's `onStep` task, which adds the next step. */
  readonly step: string | null;
  readonly task_id: string;
  /**
   * `ending`: it still runs, and continues unless its handler ends because of the request; `gone`: its task no longer
   * exists; `refused`: by the database.
   */
  readonly answer: 'retried' | 'ending' | 'key_held' | 'gone' | 'refused';
  /** The key that is held; null: its key is free. */
  readonly key: string | null;
  /** The task that has its key now or holds it for a period; null: its key is free. */
  readonly holder: string | null;
  /** Why the database refused it. */
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
