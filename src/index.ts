export { defineConfig } from './config/define-config.ts';
export type { Backoff } from './domain/backoff.ts';
export type { EnqueueOptions, KeyFor } from './domain/enqueue-options.ts';
export {
  InvalidPayloadError,
  NoSuchTaskError,
  PartlyEnqueuedError,
  UnknownTypeError,
  WaitDeadlineError,
} from './domain/errors.ts';
export type { HandlerMap, PayloadOf, ResultOf } from './domain/handler-map.ts';
export { Cancel, Dead, Retry, Snooze } from './domain/signals.ts';
export type { StandardSchema } from './domain/standard-schema.ts';
export type { StoredError } from './domain/storable-error.ts';
export type { ResultNote } from './domain/storable-result.ts';
export type { TaskStatus } from './domain/task.ts';
export type { ErrorCode } from './lib/error-codes.ts';
export { TaskqError } from './lib/errors.ts';
export type { PgClient, PgPool } from './lib/pg-client.ts';
export { createWorker, type TaskWorker, type TaskWorkerEnd } from './library/create-worker.ts';
export type { WorkerEvent } from './library/event-listener.ts';
export type { KeyFilter, KeyRecord } from './library/key-records.ts';
export type { TaskEnd } from './library/task-end.ts';
export type { BulkSettings, RerunManySettings, TaskList, TaskPage } from './library/task-list.ts';
export {
  type EnqueueManyOptions,
  type Joining,
  type TaskInput,
  TaskQueue,
  type TaskQueueOptions,
  type WaitOptions,
} from './library/task-queue.ts';
export type { ActionRecord, AppliedSettings, AttemptRecord, TaskRecord } from './library/task-record.ts';
export type { CreateWorkerOptions } from './library/worker-options.ts';
export type { ListFilter } from './queue/inspect/task-filter.ts';
export type { BulkAnswer, BulkResult } from './queue/operate/bulk.ts';
export type { CancelAnswer } from './queue/operate/cancel.ts';
export type { KeyRelease } from './queue/operate/keys.ts';
export type { RerunAnswer } from './queue/operate/rerun.ts';
export type { ReviveAnswer } from './queue/operate/revive.ts';
export type { Enqueued } from './queue/protocol/enqueue.ts';
export {
  defineHandler,
  type HandlerDefinition,
  type HandlerOptions,
  type Isolation,
  type TaskContext,
  type TaskLog,
} from './worker/handlers/handler.ts';
