import type { FinishedStatus, LiveStatus } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';
import type { AttemptError, LogLine } from './show-task.ts';

export interface FollowedLine extends LogLine {
  readonly attempt: number;
}

/** The failure or a warning of an attempt. */
export type FollowedError = Pick<AttemptError, 'attempt' | 'outcome' | 'failed_at' | 'retry_at' | 'error'>;

/** A followed task as it is now. */
export interface Followed {
  readonly status: LiveStatus | FinishedStatus | 'dead';
  readonly progress: unknown;
  /** Those stored since the last call, oldest first. */
  readonly lines: readonly FollowedLine[];
  /** Those stored since the last call, oldest first. */
  readonly errors: readonly FollowedError[];
  /** For the next call. */
  readonly since: string;
}

/** Follow a task: see `taskq.follow_task`. Undefined: no such task. */
export async function followTask(
  db: Queryable,
  id: string,
  since: string | null,
): Promise<Followed | undefined> {
  const rows = await db.query<{ followed: Followed | null }>({
    text: 'select taskq.follow_task($1, $2) as followed',
    values: [id, since],
  });
  return rows[0]!.followed ?? undefined;
}
