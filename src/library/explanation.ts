import type { TaskStatus } from '../domain/task.ts';
import type { Cause, Explanation } from '../queue/inspect/explain-task.ts';

/** What keeps a task from running, or where it is. */
export type TaskCause = Cause<Date>;

/** Why a task does not run, or where it does. */
export interface TaskExplanation {
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly status: TaskStatus;
  /** From then on only slots and the tasks before it matter; null: not before someone acts or its parents end, or it does not wait. */
  readonly mayStartAt: Date | null;
  /** Empty: a worker takes it with its next claim. */
  readonly causes: readonly TaskCause[];
}

/** Converts the answer of `taskq.explain`. */
export function explanationOf({ may_start_at: at, status, causes, ...same }: Explanation): TaskExplanation {
  return {
    ...same,
    status: status as TaskStatus,
    mayStartAt: at === null ? null : new Date(at),
    causes: causes.map(causeOf),
  };
}

const TIMES: ReadonlySet<string> = new Set(['at', 'since', 'until']);

/** Converts the times of a cause. */
export function causeOf(cause: Cause<string>): TaskCause {
  const converted = Object.entries(cause).map(([name, value]) => [
    name,
    TIMES.has(name) && value !== null ? new Date(value as string) : value,
  ]);
  return Object.fromEntries(converted) as TaskCause;
}
