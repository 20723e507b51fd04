import type { Level } from '../../lib/level.ts';

/**
 * Every event a worker logs: its level, and what it tells. Each line carries `event`, `msg` and the fields named in
 * the README's table; the field names are the columns' names.
 */
export const EVENTS = {
  'supervisor.started': ['info', 'the supervisor starts its worker processes'],
  'worker.started': ['info', 'the worker claims tasks'],
  'worker.progress': ['info', 'tasks that ended since the last such line'],
  'worker.stopping': ['info', 'the worker stops claiming and waits for running tasks'],
  'worker.stopped': ['info', 'the worker has ended'],
  'worker.retiring': [
    'error',
    'the worker cannot continue: it drains and exits with 1, and its supervisor should start another',
  ],
  'worker.unresponsive': [
    'error',
    'a handler blocked the event loop: its task failed or was cancelled, the others are given back, and the process is killed',
  ],
  'worker.exited': [
    'error',
    'a handler called process.exit: other workers take over the tasks it held when their leases run out; the exit code is 1',
  ],
  'worker.died': ['error', 'a worker process died; a new one is started'],
  'worker.paused': ['info', 'an operator paused the worker: it claims nothing until resumed'],
  'worker.resumed': ['info', 'the worker was resumed'],
  'worker.changed': ['info', 'an operator changed its concurrency, poll, lease, batch or queues'],
  'lease.changed': ['info', 'the lease an operator set is in force for every task it holds'],
  'worker.maintained': ['debug', 'housekeeping finished'],
  'partition.detached': [
    'warn',
    'a partition of history was detached by hand but is still needed: attach, rename or drop it; until then its rows go to the unplaced partition',
  ],
  'housekeeping.failed': [
    'warn',
    'a part of housekeeping failed, for example creating or dropping a partition of history; the other parts were done',
  ],
  'turn.held': [
    'warn',
    'a transaction left open or prepared holds the row by which workers take turns at this duty: end it; rescue continues without the row, housekeeping waits',
  ],
  'worker.vacuumed': ['debug', 'the table of live tasks was vacuumed'],
  'setting.disputed': [
    'warn',
    'another live worker sets a different value for the type, the queue or all tasks; the value of this worker now applies',
  ],
  'setting.overruled': [
    'warn',
    "an operator has set a different value (taskq types, queues or defaults set), which applies instead of this worker's",
  ],
  'queue.paused': [
    'info',
    'the queue is paused: nothing is claimed from it, and tasks claimed ahead are given back',
  ],
  'queue.resumed': ['info', 'the queue is resumed'],
  'handlers.reloaded': ['info', 'changed handlers are loaded; running tasks keep the old ones'],
  'handlers.not_reloaded': ['error', 'changed handlers do not load; the old ones stay in use'],
  'connection.lost': [
    'warn',
    'the database does not answer or takes no writes; handlers continue, outcomes wait in memory',
  ],
  'connection.restored': ['info', 'the database answers again'],
  'listening.failed': [
    'warn',
    'notifications do not arrive, as behind a pooler: new tasks are found by polling; set directUrl to bypass it',
  ],
  'statement.failed': ['error', 'the database refused a statement; it is retried'],
  'task.started': ['debug', 'an attempt starts'],
  'task.completed': ['debug', 'an attempt succeeded'],
  'task.failed': ['warn', 'an attempt failed; the task will be retried'],
  'task.died': ['error', 'the task became a dead letter'],
  'task.snoozed': ['debug', 'the handler asked to run again later, with no attempt counted'],
  'task.cancelled': ['info', 'the task was cancelled'],
  'task.abandoned': [
    'error',
    'the handler ignores its abort signal and keeps its slot until the worker exits',
  ],
  'task.given_back': ['info', 'the task was given back, with no attempt counted'],
  'task.rescued': ['warn', 'a task whose lease ran out can be claimed again'],
  'task.refused': [
    'error',
    'the database refused to rescue or expire the task; it stays as it is and is retried',
  ],
  'task.log': ['info', 'a line written by a handler with ctx.log'],
  'lease.lost': [
    'warn',
    'another worker has taken over the task; the outcome of this attempt is not recorded',
  ],
  'outcome.busy': [
    'warn',
    'tasks were locked by others until the worker ended; their outcomes are not recorded, and their leases run out',
  ],
  'outcome.not_stored': ['error', 'the database could not store the outcome; the task became a dead letter'],
  'outcome.refused': ['error', 'the database refused to record any outcome of the task; its lease runs out'],
} as const satisfies Record<string, readonly [Level, string]>;

export type EventName = keyof typeof EVENTS;

export interface HandlerLine {
  readonly task_id: string;
  readonly type: string;
  readonly attempt: number;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Writes one line. The level may be another than the event's own, for a handler's own words. */
export interface EventLog {
  /** Whether anybody hears of what is told at level debug, as every single task is. */
  readonly tellsDebug: boolean;
  event(name: EventName, fields?: Readonly<Record<string, unknown>>): void;
  /** A handler's own line. What it brings is `fields` of it, apart from what the worker says of every line. */
  say(level: Level, message: string, line: HandlerLine): void;
}
