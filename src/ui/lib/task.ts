/** The answer of `GET tasks`, a task of it. */
export interface Task {
  readonly id: string;
  readonly type: string;
  readonly queue: string;
  readonly status: TaskStatus;
  readonly priority: number;
  readonly payload: unknown;
  readonly tags: Readonly<Record<string, string>> | null;
  readonly key: string | null;
  readonly group: string | null;
  readonly workflow: { readonly id: string; readonly step: string | null } | null;
  readonly waitsFor: string | null;
  readonly attempts: number;
  readonly maxAttempts: number | null;
  readonly applies: Readonly<Record<'maxAttempts' | 'timeoutMs' | 'backoff' | 'retention', Applying>>;
  readonly createdAt: string;
  readonly notBefore: string;
  readonly availableAt: string | null;
  readonly expiresAt: string | null;
  readonly startedAt: string | null;
  readonly timesOutAt: string | null;
  readonly finishedAt: string | null;
  readonly updatedAt: string;
  readonly result: unknown;
  readonly resultNote: unknown;
  readonly error: TaskError | null;
  readonly reason: string | null;
  readonly progress: { readonly value: number; readonly text: string | null; readonly at: string } | null;
  readonly leaseOwner: string | null;
  readonly traceparent: string | null;
  readonly again: { readonly id: string; readonly at: string } | null;
}

/** A setting that applies to a task, and its source. */
export interface Applying {
  readonly value: unknown;
  readonly from: string;
}

export interface TaskError {
  readonly name: string;
  readonly message: string;
  readonly code?: string | null;
  readonly stack?: string | null;
  readonly cause?: TaskError | null;
}

/** The answer of `GET tasks/{id}`. */
export interface TaskDetails extends Task {
  readonly errors: readonly Attempt[];
  readonly logs: readonly AttemptLog[];
  readonly actions: readonly Action[];
}

export interface Attempt {
  readonly attempt: number;
  readonly outcome: string;
  readonly at: string;
  readonly ranMs: number | null;
  readonly worker: string | null;
  readonly version: string | null;
  readonly retryAt: string | null;
  readonly error: TaskError | null;
  readonly result: unknown;
}

export interface AttemptLog {
  readonly attempt: number;
  readonly leftOut: number;
  readonly lines: readonly LogLine[];
}

export interface LogLine {
  readonly at: string;
  readonly level: string;
  readonly message: string;
  readonly fields: unknown;
}

/** A person's action on a task. */
export interface Action {
  readonly verb: string;
  readonly at: string;
  readonly role: string;
  readonly by: string | null;
  readonly reason: string | null;
}

export const LIVE_STATUSES = ['blocked', 'pending', 'leased', 'running'] as const;
export const FINISHED_STATUSES = ['completed', 'cancelled', 'expired'] as const;
export const STATUSES = [...LIVE_STATUSES, ...FINISHED_STATUSES, 'dead'] as const;

export type TaskStatus = (typeof STATUSES)[number];
