import type { Level } from '../../lib/level.ts';

/**
 * Every event a worker logs: its level, its message, and the fields that its line may have besides `event` and `msg`.
 * The table in docs/reference.md is generated from it. Fields are named like columns.
 */
export const EVENTS = {
  'supervisor.started': ['info', 'the supervisor starts its worker processes', ['pid', 'processes']],
  'worker.started': [
    'info',
    'the worker claims tasks',
    ['worker_id', 'types', 'queues', 'concurrency', 'paused'],
  ],
  'worker.registered_again': [
    'warn',
    'the database had no row of this worker: a failover may have lost it',
    ['worker_id'],
  ],
  'worker.progress': [
    'info',
    'tasks that ended since the last such line',
    ['completed', 'failed', 'died', 'snoozed', 'cancelled', 'lost', 'given_back', 'running'],
  ],
  'worker.waiting': [
    'info',
    'a worker that ends when it is idle waits for tasks that were attempted (snoozed, failed or given back), and when the first of them is due; logged once a minute',
    ['tasks', 'due_in_ms'],
  ],
  'worker.stopping': [
    'info',
    'the worker stops claiming and waits for running tasks',
    ['running', 'waiting', 'grace_ms', 'by'],
  ],
  'worker.stopped': [
    'info',
    'the worker has ended',
    ['worker_id', 'completed', 'failed', 'died', 'snoozed', 'cancelled', 'lost', 'given_back', 'left'],
  ],
  'worker.retiring': [
    'error',
    'the worker cannot continue: it drains and exits with 1, and its supervisor should start another',
    ['error', 'task_id', 'type'],
  ],
  'worker.outdated': [
    'error',
    'a newer release was migrated that does not serve this worker: it drains and exits with 3; install that version, a restart does not help',
    ['error'],
  ],
  'worker.unresponsive': [
    'error',
    'a handler blocked the event loop: its task failed or was cancelled, the others are given back, and the process is killed',
    ['worker_id', 'task_id'],
  ],
  'worker.exited': [
    'error',
    'a handler called process.exit: other workers take over the tasks it held when their leases run out; the exit code is 1',
    ['worker_id', 'exit_code', 'task_ids'],
  ],
  'worker.died': [
    'error',
    'a worker process died; a new one is started',
    ['pid', 'exit_code', 'signal', 'lived_ms', 'restart_in_ms'],
  ],
  'worker.paused': ['info', 'an operator paused the worker: it claims nothing until resumed', ['by']],
  'worker.resumed': ['info', 'the worker was resumed', []],
  'worker.changed': [
    'info',
    'an operator changed its concurrency, poll, lease, batch or queues',
    ['concurrency', 'poll_ms', 'lease_ms', 'batch', 'queues'],
  ],
  'lease.changed': ['info', 'the lease an operator set is in force for every task it holds', ['lease_ms']],
  'schedule.added': ['info', 'a schedule of the configuration did not exist', ['schedule']],
  'schedule.fired': [
    'debug',
    'the tick of a schedule has come: its task was enqueued, or an earlier one still holds its key (`tasks` is 0)',
    ['schedule', 'tick', 'task_id', 'tasks'],
  ],
  'schedule.passed': [
    'info',
    "ticks that no worker could fire in time, and that the schedule's `missed` policy skips",
    ['schedule', 'passed'],
  ],
  'schedule.failed': [
    'error',
    'a schedule cannot be fired, and is tried again; or a tick got no task because a task of another type or group holds its key; logged once a minute',
    ['schedule', 'error'],
  ],
  'operation.ended': [
    'info',
    'an operation has ended: `state` is completed, stopped or failed',
    ['operation_id', 'verb', 'state', 'done', 'failed', 'reason'],
  ],
  'worker.maintained': [
    'debug',
    'housekeeping finished',
    ['partitions_made', 'partitions_dropped', 'rows_placed', 'rows_dropped', 'expired', 'dead_discarded'],
  ],
  'partition.detached': [
    'warn',
    'a partition of history was detached by hand but is still needed: attach, rename or drop it; until then its rows go to the unplaced partition',
    ['partition'],
  ],
  'housekeeping.failed': [
    'warn',
    'a part of housekeeping failed, for example creating or dropping a partition of history; the other parts were done',
    ['reason'],
  ],
  'turn.held': [
    'warn',
    'a transaction left open or prepared holds the row by which workers take turns at this duty: end it; rescue continues without the row, housekeeping waits',
    ['duty', 'holder'],
  ],
  'vacuum.forbidden': [
    'info',
    'the role of this worker may not vacuum the table of live tasks, and leaves it to autovacuum, which should look every ten seconds (autovacuum_naptime)',
    [],
  ],
  'worker.vacuumed': ['debug', 'the table of live tasks was vacuumed', ['took_ms']],
  'setting.disputed': [
    'warn',
    'another live worker sets a different value for the type, the queue or all tasks; the value of this worker now applies',
    ['type', 'queue', 'setting', 'value', 'other', 'other_worker'],
  ],
  'setting.overruled': [
    'warn',
    "an operator has set a different value (taskq types, queues or defaults set), which applies instead of this worker's",
    ['type', 'queue', 'setting', 'value', 'other'],
  ],
  'callbacks.left_out': [
    'warn',
    'the onComplete and onDead of the handlers of this type are not set: tasks would follow each other forever, or the role may not enqueue',
    ['type', 'fault'],
  ],
  'queue.paused': [
    'info',
    'the queue is paused: nothing is claimed from it, and tasks claimed ahead are given back',
    ['queue', 'by', 'reason', 'until'],
  ],
  'queue.resumed': ['info', 'the queue is resumed', ['queue']],
  'breaker.opened': [
    'warn',
    'a type has failed as often as its breaker allows: only one probe task at a time starts, until one succeeds or taskq types resume; tasks claimed ahead are given back',
    ['type', 'failures', 'within_ms', 'probe_after_ms'],
  ],
  'breaker.closed': ['info', 'the type is claimed again', ['type']],
  'handlers.reloaded': [
    'info',
    'changed handlers are loaded; running tasks keep the old ones',
    ['changed', 'added', 'removed'],
  ],
  'handlers.not_reloaded': [
    'error',
    'changed handlers do not load; the old ones stay in use',
    ['changed', 'error'],
  ],
  'connection.lost': [
    'warn',
    'the database does not answer or takes no writes; handlers continue, outcomes wait in memory',
    ['connection', 'error'],
  ],
  'connection.restored': ['info', 'the database answers again', ['lost_ms']],
  'listening.failed': [
    'warn',
    'notifications do not arrive, as behind a pooler: new tasks are found by polling; set directUrl to bypass it',
    [],
  ],
  'statement.failed': ['error', 'the database refused a statement; the statement is retried', ['error']],
  'task.started': ['debug', 'an attempt starts', ['task_id', 'type', 'attempt']],
  'task.completed': ['debug', 'an attempt succeeded', ['task_id', 'type', 'queue', 'attempt', 'ran_ms']],
  'task.failed': [
    'warn',
    'an attempt failed; the task will be retried',
    ['task_id', 'type', 'queue', 'attempt', 'ran_ms', 'retry_in_ms', 'error'],
  ],
  'task.failed_completed': [
    'warn',
    'an attempt failed, which completes the task (`onFailure`)',
    ['task_id', 'type', 'queue', 'attempt', 'ran_ms', 'error'],
  ],
  'task.died': [
    'error',
    'the task became a dead letter',
    ['task_id', 'type', 'queue', 'attempt', 'ran_ms', 'reason', 'error'],
  ],
  'result.not_stored': [
    'warn',
    'the value a handler returned cannot be stored as a result; what was kept of it is in taskq show',
    ['task_id', 'type', 'queue', 'attempt', 'bytes', 'reason'],
  ],
  'task.snoozed': [
    'debug',
    'the handler asked to run again later, with no attempt counted',
    ['task_id', 'type', 'queue', 'attempt', 'ran_ms', 'retry_in_ms'],
  ],
  'task.cancelled': [
    'info',
    'the task was cancelled',
    ['task_id', 'type', 'queue', 'attempt', 'ran_ms', 'reason'],
  ],
  'task.abandoned': [
    'error',
    'the handler ignores its abort signal: it keeps its slot and its lease, and its outcome is recorded when the worker exits',
    ['task_id', 'type', 'abandoned'],
  ],
  'task.given_back': [
    'info',
    'the task was given back, with no attempt counted',
    ['task_id', 'type', 'started'],
  ],
  'task.rescued': [
    'warn',
    'a task whose lease ran out can be claimed again',
    ['task_id', 'type', 'queue', 'status'],
  ],
  'task.refused': [
    'error',
    'the database refused to claim, renew, rescue or expire the task; it stays as it is and is retried',
    ['task_id', 'type', 'queue', 'error'],
  ],
  'task.log': ['info', 'a line written by a handler with ctx.log', ['task_id', 'type', 'attempt', 'fields']],
  'lease.lost': [
    'warn',
    'another worker has taken over the task; the outcome of this attempt is not recorded',
    ['task_id', 'type', 'queue', 'attempt', 'ran_ms'],
  ],
  'outcome.busy': [
    'warn',
    'tasks were locked by others until the worker ended; their outcomes are not recorded, and their leases run out',
    ['task_ids', 'tasks'],
  ],
  'outcome.unrecorded': [
    'warn',
    'the database did not answer, or refused, until the worker ended; the outcomes of its tasks are not recorded, and their leases run out',
    ['task_ids', 'tasks'],
  ],
  'claim.unanswered': [
    'warn',
    'the database did not answer a claim until the worker ended; tasks it may have leased run again when their leases have run out',
    [],
  ],
  'outcome.ignored': [
    'warn',
    'ctx.transaction had completed the task; how its handler ended after that changes nothing',
    ['task_id', 'type', 'attempt', 'reason', 'error'],
  ],
  'outcome.not_stored': [
    'error',
    'the database could not store the outcome; the task became a dead letter',
    ['task_id', 'type', 'error'],
  ],
  'outcome.refused': [
    'error',
    'the database refused to record any outcome of the task; its lease runs out',
    ['task_id', 'type', 'error'],
  ],
  'note.refused': [
    'warn',
    'the database refused what the handler reported while it ran: that is not stored',
    ['task_id', 'type', 'error'],
  ],
} as const satisfies Record<string, readonly [Level, string, readonly (keyof EventFields)[]]>;

export type EventName = keyof typeof EVENTS;

/** An error of an attempt or of the worker itself: of a thrown error everything, otherwise what is known of it. */
export interface LoggedError {
  readonly message: string;
  readonly name?: string;
  readonly stack?: string | null;
  readonly code?: string | number | null;
  readonly cause?: unknown;
}

/** Every field that a line may have, with the same meaning in every event. */
export interface EventFields {
  readonly task_id: string;
  /** At most a hundred ids. */
  readonly task_ids: readonly string[];
  readonly tasks: number;
  readonly type: string;
  readonly queue: string;
  /** `all`, or the names. */
  readonly queues: 'all' | readonly string[];
  readonly types: readonly string[];
  readonly attempt: number;
  readonly ran_ms: number | null;
  readonly retry_in_ms: number;
  /** Of the JSON text of a result; null: its size is not the problem. */
  readonly bytes: number | null;
  readonly status: string;
  readonly error: LoggedError;
  readonly reason: string | null;
  /** The values a handler passed to its log. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly started: boolean;
  readonly worker_id: number;
  readonly pid: number;
  readonly processes: number;
  readonly exit_code: number | null;
  readonly signal: string | null;
  readonly lived_ms: number;
  readonly due_in_ms: number;
  readonly restart_in_ms: number;
  readonly concurrency: number;
  readonly poll_ms: number;
  readonly lease_ms: number;
  readonly batch: number | 'auto' | null;
  readonly paused: boolean;
  readonly by: string | null;
  /** Null: until it is resumed. */
  readonly until: string | null;
  readonly completed: number;
  readonly failed: number;
  readonly died: number;
  readonly snoozed: number;
  readonly cancelled: number;
  readonly lost: number;
  readonly given_back: number;
  readonly running: number;
  readonly waiting: number;
  /** How long running tasks may continue. */
  readonly grace_ms: number;
  /** Slots whose handlers ignore their abort signals. */
  readonly abandoned: number;
  /** Tasks that still wait, counted by reason. */
  readonly left: object;
  readonly failures: number;
  readonly within_ms: number;
  readonly probe_after_ms: number | 'none';
  readonly partition: string;
  readonly partitions_made: number;
  readonly partitions_dropped: number;
  readonly rows_placed: number;
  readonly rows_dropped: number;
  readonly expired: number;
  readonly dead_discarded: number;
  readonly duty: string;
  readonly operation_id: string;
  readonly verb: string;
  readonly state: string;
  readonly done: number;
  readonly schedule: string;
  readonly tick: string;
  /** Ticks without a task. */
  readonly passed: number;
  readonly holder: unknown;
  readonly took_ms: number;
  readonly setting: string;
  readonly value: unknown;
  readonly other: unknown;
  readonly other_worker: string;
  readonly fault: string;
  readonly changed: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Which kind of the worker's connections. */
  readonly connection: string;
  readonly lost_ms: number;
}

/** The fields that the line of an event may have. */
export type FieldsOf<Name extends EventName> = {
  readonly [Field in (typeof EVENTS)[Name][2][number]]?: EventFields[Field] | undefined;
};

export interface HandlerLine {
  readonly task_id: string;
  readonly type: string;
  readonly attempt: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Writes one line. A handler's own line may have another level than its event. */
export interface EventLog {
  /** Whether lines at level debug, such as those of single tasks, are written. */
  readonly isDebugEnabled: boolean;
  event<Name extends EventName>(name: Name, fields?: FieldsOf<Name>): void;
  /** Write a handler's own line. Its values go into `fields`, apart from the worker's own fields. */
  write(level: Level, message: string, line: HandlerLine): void;
}
