import type {
  HandlerMap,
  PayloadOf,
  ResultOf,
  Stored,
  TypeOf,
  UnknownHandlers,
} from '../domain/handler-map.ts';
import type { StoredError } from '../domain/storable-error.ts';
import type { ResultNote } from '../domain/storable-result.ts';
import type { TaskStatus, WorkflowPlace } from '../domain/task.ts';
import type { Action, AttemptError, AttemptLog, ShownTask } from '../queue/inspect/show-task.ts';
import type { Applying, TaskRow } from '../queue/inspect/task-row.ts';
import { timeOf } from './time-of.ts';

/**
 * A task as it is now, wherever its row is: waiting, held, finished or dead. Null means that there is none, or not yet.
 */
export interface TaskRecord<Type = string, Payload = unknown, Result = unknown> {
  /** The id: a bigint, so text. */
  readonly id: string;
  /** The name of its handler. */
  readonly type: Type;
  /** Its queue. */
  readonly queue: string;
  /** Live (`blocked`, `pending`, `leased`, `running`), finished (`completed`, `cancelled`, `expired`) or `dead`. */
  readonly status: TaskStatus;
  /** 0 is the most urgent, 9 the least. */
  readonly priority: number;
  /** The argument of its handler. */
  readonly payload: Payload;
  /** Names and values to find it by. */
  readonly tags: Readonly<Record<string, string>> | null;
  /** Its unique key. */
  readonly key: string | null;
  /** Its group. */
  readonly group: string | null;
  /** Its place in a workflow. */
  readonly workflow: WorkflowPlace | null;
  /** What it waits for, if not for a time: the parents of its step, or a slot of its group. */
  readonly waitsFor: 'parents' | 'slot' | null;
  /** Failed attempts so far. */
  readonly attempts: number;
  /** Its own; null if its type's, its queue's or the database's applies. */
  readonly maxAttempts: number | null;
  /** The settings that apply to it today, each with its origin. */
  readonly applies: AppliedSettings;
  /** When it was enqueued. */
  readonly createdAt: Date;
  /** The requested start: it does not start earlier. */
  readonly notBefore: Date;
  /** When it may start, also for a retry; null if it does not wait, or no time decides (`waitsFor`). */
  readonly availableAt: Date | null;
  /** It does not start after this time. */
  readonly expiresAt: Date | null;
  /** When its last attempt started. */
  readonly startedAt: Date | null;
  /** When its attempt exceeds its timeout, or did; null: it does not run, or has no timeout. */
  readonly timesOutAt: Date | null;
  /** When it completed, was cancelled, expired or died. */
  readonly finishedAt: Date | null;
  /** The latest of creation, start, cancel request, last error and end. */
  readonly updatedAt: Date;
  /** The result of a completed task. */
  readonly result: Result | null;
  /** What remains of a result that could not be stored; `result` is then null. */
  readonly resultNote: ResultNote | null;
  /** The last error. */
  readonly error: StoredError | null;
  /** Why it is dead or cancelled. */
  readonly reason: string | null;
  /** What its handler last reported by `ctx.progress`; null: nothing. */
  readonly progress: TaskProgress | null;
  /** The worker that holds it or held it last: `host:pid:unique part`. */
  readonly leaseOwner: string | null;
  /** The trace that it is part of, as W3C Trace Context writes it. */
  readonly traceparent: string | null;
  /** The task that runs after it, enqueued to replace it while a worker held it. */
  readonly again: NextTask<Payload> | null;
}

/** How far a task has come, as its handler reports it. */
export interface TaskProgress {
  /** A share from 0 to 1, or any other number. */
  readonly value: number;
  readonly text: string | null;
  /** When it was stored. */
  readonly at: Date;
}

export interface NextTask<Payload = unknown> {
  /** The id that it gets then. */
  readonly id: string;
  /** It does not start earlier. */
  readonly at: Date;
  readonly payload: Payload;
}

export interface AppliedSettings {
  readonly maxAttempts: Applying<number | 'unlimited'>;
  /** Null: no limit. */
  readonly timeoutMs: Applying<number | null>;
  readonly backoff: Applying<Readonly<Record<string, unknown>>>;
  readonly retention: Applying<string>;
}

/** An action that someone took on a task: cancelled, retried, revived it, … */
export interface ActionRecord {
  /** `cancel`, `retry`, `revive`, … */
  readonly verb: string;
  /** When. */
  readonly at: Date;
  /** The role of the session. */
  readonly role: string;
  /** Name given by the caller. */
  readonly by: string | null;
  /** The reason given. */
  readonly reason: string | null;
}

/** An attempt that failed, was lost with its worker, or left a result although the task continued; or a warning. */
export interface AttemptRecord {
  /** Failed attempts by then, this one included; of a warning, the attempt that gave it. */
  readonly attempt: number;
  /** `failed`, `dead`, `snoozed`, `lost` with its worker, or `warned`: an error that `ctx.warn` has recorded. */
  readonly outcome: string;
  /** When it ended. */
  readonly at: Date;
  /** The worker that ran it; null: it is no longer known. */
  readonly worker: string | null;
  /** The version of that worker, as the application gave it. */
  readonly version: string | null;
  /** Null if the attempt was lost, and of a warning. */
  readonly ranMs: number | null;
  /** When the next attempt was due; null if there was none, or if this attempt was lost. */
  readonly retryAt: Date | null;
  /** The error; null if there is none. */
  readonly error: StoredError | null;
  /** The result that `Retry` or `Snooze` passed. */
  readonly result: unknown;
  /** What remains of a result that could not be stored. */
  readonly resultNote: ResultNote | null;
}

/** The last lines of the log of an attempt that did not complete, or of any if its type is set so. */
export interface AttemptLogRecord {
  readonly attempt: number;
  /** How many earlier lines were not kept. */
  readonly leftOut: number;
  readonly lines: readonly LogLineRecord[];
}

export interface LogLineRecord {
  readonly at: Date;
  /** `debug`, `info`, `warn` or `error`. */
  readonly level: string;
  readonly message: string;
  /** Null: none; text: the beginning of their JSON, which was too long. */
  readonly fields: unknown;
}

/** A record whose `type` determines the types of its payload and result. */
export type TaskOf<Handlers extends HandlerMap, Type extends TypeOf<Handlers> = TypeOf<Handlers>> = {
  [One in Type]: TaskRecord<One, Stored<PayloadOf<Handlers, One>>, ResultOf<Handlers, One>>;
}[Type];

/** A record with its attempts, their logs and the actions people took on it, oldest first. */
export type ShownTaskOf<Handlers extends HandlerMap> = TaskOf<Handlers> & {
  readonly errors: readonly AttemptRecord[];
  readonly logs: readonly AttemptLogRecord[];
  readonly actions: readonly ActionRecord[];
};

/** Converts a row of `taskq.all_tasks`. */
export function recordOf(row: TaskRow): TaskRecord {
  return {
    id: row.id,
    type: row.type,
    queue: row.queue,
    status: row.status as TaskStatus,
    priority: row.priority as number,
    payload: row.payload,
    tags: row.tags as TaskRecord['tags'],
    key: row.unique_key as string | null,
    group: row.group_key as string | null,
    workflow: placeOf(row),
    waitsFor: row.waits_for as TaskRecord['waitsFor'],
    attempts: row.attempts as number,
    maxAttempts: row.max_attempts as number | null,
    applies: {
      maxAttempts: row.applies.max_attempts,
      timeoutMs: row.applies.timeout_ms,
      backoff: row.applies.backoff,
      retention: row.applies.retention,
    },
    createdAt: timeOf(row.created_at)!,
    notBefore: timeOf(row.not_before)!,
    availableAt: timeOf(row.available_at),
    expiresAt: timeOf(row.expires_at),
    startedAt: timeOf(row.started_at),
    timesOutAt: timeOf(row.times_out_at),
    finishedAt: timeOf(row.finished_at),
    updatedAt: timeOf(row.updated_at)!,
    result: row.result ?? null,
    resultNote: (row.result_note ?? null) as ResultNote | null,
    error: row.error as StoredError | null,
    reason: (row.reason ?? row.cancel_reason) as string | null,
    progress: progressOf(row.progress),
    leaseOwner: row.lease_owner as string | null,
    traceparent: row.traceparent as string | null,
    again: nextOf(row.again as NextRow | null),
  };
}

function placeOf({ workflow_id: id, step }: TaskRow): WorkflowPlace | null {
  return typeof id === 'string' ? { id, step: step as string | null } : null;
}

/** Null for a value that someone has put in by hand. */
function progressOf(stored: unknown): TaskProgress | null {
  const { value, text, at } = Object(stored) as Partial<Readonly<Record<string, unknown>>>;
  if (typeof value !== 'number' || typeof at !== 'string') return null;
  return { value, text: typeof text === 'string' ? text : null, at: new Date(at) };
}

interface NextRow {
  readonly id: string;
  readonly at: string;
  readonly payload: unknown;
}

function nextOf(row: NextRow | null): NextTask | null {
  return row && { id: row.id, at: timeOf(row.at)!, payload: row.payload };
}

/** Converts the answer of `taskq.show_task`. */
export function shownOf(shown: ShownTask): ShownTaskOf<UnknownHandlers> {
  return {
    ...recordOf(shown),
    errors: shown.errors.map(attemptOf),
    logs: shown.logs.map(logOf),
    actions: shown.actions.map(actionOf),
  } as ShownTaskOf<UnknownHandlers>;
}

function attemptOf(error: AttemptError): AttemptRecord {
  return {
    attempt: error.attempt,
    outcome: error.outcome,
    at: timeOf(error.failed_at)!,
    worker: error.lease_owner,
    version: error.version,
    ranMs: error.ran_ms,
    retryAt: timeOf(error.retry_at),
    error: error.error as StoredError | null,
    result: error.result ?? null,
    resultNote: error.result_note ?? null,
  };
}

function logOf({ attempt, left_out: leftOut, lines }: AttemptLog): AttemptLogRecord {
  return {
    attempt,
    leftOut,
    lines: lines.map(({ at, level, message, fields = null }) => ({
      at: new Date(at),
      level,
      message,
      fields,
    })),
  };
}

function actionOf({ verb, at, role, by, reason }: Action): ActionRecord {
  return { verb, at: new Date(at), role, by, reason };
}
