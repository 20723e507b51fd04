import type { FinishedStatus } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';
import { TaskqError } from '../../lib/errors.ts';
import { isAnyServerError } from '../../lib/server-trouble.ts';

/** The end of a task, as `taskq.events_after` returns it. */
export interface EventRow {
  /** The position from which to read on. */
  readonly position: string;
  /** ISO 8601. */
  readonly at: string;
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly status: FinishedStatus | 'dead';
  readonly reason: string | null;
  readonly attempts: number;
  readonly key: string | null;
  readonly group_key: string | null;
  readonly workflow_id: string | null;
  readonly step: string | null;
  readonly tags: Readonly<Record<string, string>> | null;
}

/** Read the events after a position; null: the first ones that are kept. Throws TaskqError `events_lost`. */
export async function readEvents(db: Queryable, position: string | null, limit: number): Promise<EventRow[]> {
  try {
    const rows = await db.query<{ event: EventRow }>({
      text: `select to_jsonb(e) - 'extra' || jsonb_build_object(
          'id', e.id::text, 'workflow_id', e.workflow_id::text
        ) as event
        from taskq.events_after($1, $2) as e`,
      values: [position, limit],
    });
    return rows.map(({ event }) => event);
  } catch (error) {
    throw isAnyServerError(error) && error.code === '55000' ? lost(error) : error;
  }
}

/** Return the position after all ends committed so far. */
export async function positionNow(db: Queryable): Promise<string> {
  const rows = await db.query<{ position: string }>({ text: 'select taskq.events_now() as position' });
  return rows[0]!.position;
}

function lost(cause: Error): TaskqError {
  return new TaskqError('events_lost', cause.message.replace(/^events_after: /, ''), {
    hint: 'read without a position, from the beginning of what is kept, or from now on',
    cause,
  });
}
