export { defineConfig } from './config/define-config.ts';
export type { ConfigInput } from './config/settings.ts';
export type {
  BackoffInput,
  BreakerInput,
  QueueInput,
  QueueInputs,
  TaskTypeInput,
  TaskTypeInputs,
} from './config/task-settings.ts';
export type { Backoff, BackoffKind, StoredBackoff } from './domain/backoff.ts';
export type { Breaker } from './domain/breaker.ts';
export type { Callback } from './domain/callback.ts';
export type { EditChanges } from './domain/edit-changes.ts';
export type {
  EnqueueOptions,
  KeyFor,
  OnHeld,
  StoredEnqueueOptions,
  WorkflowPlacement,
} from './domain/enqueue-options.ts';
export {
  InvalidPayloadError,
  NoSuchTaskError,
  PartlyEnqueuedError,
  UnknownTypeError,
  WaitDeadlineError,
} from './domain/errors.ts';
export type { FollowUpOptions } from './domain/follow-ups.ts';
export type { FunctionAnswer } from './domain/function-answer.ts';
export type {
  HandlerMap,
  PayloadOf,
  ResultOf,
  Stored,
  TypeOf,
  UnknownHandlers,
} from './domain/handler-map.ts';
export type { KeepLog } from './domain/keep-log.ts';
export type { OnFailure } from './domain/on-failure.ts';
export type {
  OperationFailure,
  OperationLimits,
  OperationState,
  OperationVerb,
} from './domain/operation.ts';
export type { Retention } from './domain/retention.ts';
export type {
  Overlap,
  ScheduleInput,
  ScheduleInputs,
  ScheduleOptions,
} from './domain/schedule/definition.ts';
export type { Missed } from './domain/schedule/missed-policy.ts';
export {
  Again,
  type AgainOptions,
  Cancel,
  Dead,
  Retry,
  type RetryOptions,
  Snooze,
} from './domain/signals.ts';
export type { SchemaIssue, SchemaResult, StandardSchema } from './domain/standard-schema.ts';
export type { StoredError } from './domain/storable-error.ts';
export type { ResultNote } from './domain/storable-result.ts';
export type { FinishedStatus, LiveStatus, TaskStatus, WorkflowPlace } from './domain/task.ts';
export type { OnDeath, WorkflowState } from './domain/workflow/state.ts';
export type { Parent, StoredParent } from './domain/workflow/step-options.ts';
export type { WorkflowOptions } from './domain/workflow/workflow-options.ts';
export type { ErrorCode } from './lib/error-codes.ts';
export { type ExitCode, TaskqError, type TaskqErrorOptions } from './lib/errors.ts';
export type { Level } from './lib/level.ts';
export type { TransactionClient } from './lib/open-transaction.ts';
export type { PgClient, PgPool } from './lib/pg-client.ts';
export type { SynchronousCommit } from './lib/synchronous-commit.ts';
export type { ActingSettings } from './library/acting-settings.ts';
export type { AuditFilter, AuditRecord } from './library/audit-records.ts';
export type { QueueChanges, TypeChanges } from './library/changed-settings.ts';
export { createWorker, type TaskWorker, type TaskWorkerEnd } from './library/create-worker.ts';
export type { DeadGroupRecord } from './library/dead-group-records.ts';
export type { Deletion, DiscardAnswer, PurgeAnswer, StillHeldKey } from './library/deletion.ts';
export type { WorkerEvent } from './library/event-listener.ts';
export type { EventOptions, TaskEvent } from './library/event-records.ts';
export type { TaskCause, TaskExplanation } from './library/explanation.ts';
export type { Figures, QueueFigures, TypeFigures } from './library/figures.ts';
export type {
  GroupApplies,
  GroupChanges,
  GroupDetails,
  GroupFilter,
  GroupPause,
  GroupPauseSettings,
  GroupRecord,
  SlotCandidate,
  SlotHolder,
} from './library/group-records.ts';
export type { KeyFilter, KeyRecord } from './library/key-records.ts';
export type { MetricsOptions, MetricsRecord } from './library/metrics-records.ts';
export type { MigrateSettings } from './library/migrate-for.ts';
export type { OperationFilter } from './library/new-operation.ts';
export type { OperationRecord } from './library/operation-records.ts';
export type { OperationPreview, OperationSettings, Operations } from './library/operations.ts';
export type { PauseSettings, QueuePause } from './library/queue-pause.ts';
export type {
  PreviewSettings,
  SchedulePause,
  SchedulePauseSettings,
  ScheduleRecord,
  ScheduleSettings,
  Schedules,
} from './library/schedules.ts';
export type { TaskEnd, TaskEndOf } from './library/task-end.ts';
export type {
  BulkSettings,
  CancelManySettings,
  PageOptions,
  RerunManySettings,
  ReviveManySettings,
  TaskList,
  TaskPage,
} from './library/task-list.ts';
export { TaskQueue } from './library/task-queue.ts';
export type {
  EnqueueManyOptions,
  Joining,
  RerunSettings,
  ReviveSettings,
  TaskInput,
  TaskQueueOptions,
  WaitOptions,
} from './library/task-queue-options.ts';
export type {
  ActionRecord,
  AppliedSettings,
  AttemptLogRecord,
  AttemptRecord,
  LogLineRecord,
  NextTask,
  ShownTaskOf,
  TaskOf,
  TaskProgress,
  TaskRecord,
} from './library/task-record.ts';
export type { CreateWorkerOptions } from './library/worker-options.ts';
export type {
  StartSettings,
  StepArguments,
  StepOptions,
  WorkflowBuilder,
} from './library/workflow-builder.ts';
export type {
  ParentRecord,
  StepRecord,
  WorkflowDetails,
  WorkflowRecord,
} from './library/workflow-records.ts';
export type { RetriedStepRecord, WorkflowEnd, WorkflowFilter, Workflows } from './library/workflows.ts';
export type { AwaitedParent, Cause } from './queue/inspect/explain-task.ts';
export type { Obstacle, QueueAndType, WorkerObstacle } from './queue/inspect/find-obstacles.ts';
export type { GroupStop } from './queue/inspect/list-groups.ts';
export type { GroupApplying } from './queue/inspect/show-group.ts';
export type { QueueStats, Stalled, TypeStats } from './queue/inspect/stats.ts';
export type { ListFilter } from './queue/inspect/task-filter.ts';
export type { Applying } from './queue/inspect/task-row.ts';
export type { BulkAnswer, BulkResult } from './queue/operate/bulk.ts';
export type { CancelAnswer } from './queue/operate/cancel.ts';
export type { CancelWorkflowAnswer } from './queue/operate/cancel-workflow.ts';
export type { EditAnswer } from './queue/operate/edit.ts';
export type { KeyRelease } from './queue/operate/keys.ts';
export type { RerunAnswer } from './queue/operate/rerun.ts';
export type { RetryAnswer } from './queue/operate/retry.ts';
export type { RetriedStep } from './queue/operate/retry-workflow.ts';
export type { ReviveAnswer } from './queue/operate/revive.ts';
export type { EnqueueAnswer, Enqueued, EnqueuedCounts } from './queue/protocol/enqueue.ts';
export type { StartedWorkflow } from './queue/protocol/run-workflow.ts';
export type { EnqueuedMany } from './queue/protocol/send-bulks.ts';
export {
  type ChannelDefinition,
  type ChannelPayload,
  type ChannelResult,
  defineChannel,
} from './worker/handlers/channel.ts';
export {
  type DbFunctionOptions,
  type DbFunctionPayload,
  dbFunctionHandler,
} from './worker/handlers/db-function.ts';
export {
  defineHandler,
  type HandlerDefinition,
  type HandlerOptions,
  type Isolation,
  type NamedParentEnd,
  type ParentEnd,
  type PrepareContext,
  type RunFunctionOptions,
  type TaskContext,
  type TaskLog,
  type TransactionWork,
} from './worker/handlers/handler.ts';
export type { EventName } from './worker/log/events.ts';
