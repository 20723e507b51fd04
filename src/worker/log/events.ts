import type { Level } from '../../lib/level.ts';

/**
 * Every event a worker logs: its level, and what it tells. Each line carries `event`, `msg` and the fields named in
 * the README's table; the field names are the columns' names.
 */
export const EVENTS = {
  'supervisor.started': ['info', 'it keeps worker processes running'],
  'worker.started': ['info', 'the worker claims tasks'],
  'worker.progress': ['info', 'what ended since the last such line'],
  'worker.stopping': ['info', 'it claims no more, and waits for what runs'],
  'worker.stopped': ['info', 'it has ended'],
  'worker.retiring': [
    'error',
    'it cannot go on as it is: it drains and exits 1, for its supervisor to start another',
  ],
  'worker.unresponsive': [
    'error',
    'a handler kept the event loop: its task has failed or was cancelled, the others are given back, the process killed',
  ],
  'worker.exited': [
    'error',
    'something called process.exit before the worker had ended: what it held is left to its lease, the exit code is 1',
  ],
  'worker.died': ['error', 'a worker process ended unasked; another is started'],
  'worker.paused': ['info', 'an operator paused it: it claims nothing until it is resumed'],
  'worker.resumed': ['info', 'it claims again'],
  'worker.changed': [
    'info',
    'an operator changed its slots, how often it looks, its lease, its batch, or its queues',
  ],
  'lease.changed': ['info', 'every lease it holds is of the length that an operator asked for'],
  'worker.maintained': ['debug', 'housekeeping was done'],
  'partition.detached': [
    'warn',
    'a partition of history that is needed was detached by hand: attach it again, or drop or rename it; meanwhile its rows are kept among those without a partition',
  ],
  'housekeeping.failed': [
    'warn',
    'something of the housekeeping, as a partition of history to be made or dropped, could not be done, and why; all else was',
  ],
  'turn.held': [
    'warn',
    'another transaction, left open or prepared, holds the row by which workers take turns at this duty: end it; rescue goes on without, housekeeping waits',
  ],
  'worker.vacuumed': ['debug', 'the table of live tasks was vacuumed: this worker leaves dead rows there'],
  'setting.disputed': [
    'warn',
    'another live worker says otherwise of the type, the queue or all tasks; the value of this one applies now',
  ],
  'setting.overruled': [
    'warn',
    'an operator has set it otherwise: that applies, and not what this worker says (taskq types set, queues set, defaults set)',
  ],
  'queue.paused': ['info', 'nothing is claimed from the queue; what was claimed ahead is given back'],
  'queue.resumed': ['info', 'the pause of the queue is over'],
  'handlers.reloaded': [
    'info',
    'changed handlers are in use from now on; what runs, runs on with the old ones',
  ],
  'handlers.not_reloaded': ['error', 'changed handlers do not load; those before stay in use'],
  'connection.lost': [
    'warn',
    'the database does not answer, or takes no writes; handlers go on, outcomes wait in memory',
  ],
  'connection.restored': ['info', 'the database answers again'],
  'listening.failed': [
    'warn',
    'no notification comes through, as behind a pooler: new tasks are found by polling; directUrl leads past it',
  ],
  'statement.failed': ['error', 'a statement was refused; it is tried again'],
  'task.started': ['debug', 'an attempt begins'],
  'task.completed': ['debug', 'an attempt succeeded'],
  'task.failed': ['warn', 'an attempt failed and will be tried again'],
  'task.died': ['error', 'the task is a dead letter now'],
  'task.snoozed': ['debug', 'the handler asked to be run again later'],
  'task.cancelled': ['info', 'the task was cancelled'],
  'task.abandoned': ['error', 'the handler ignores its signal; its slot is lost until the worker exits'],
  'task.given_back': ['info', 'the task was given back unburned'],
  'task.rescued': ['warn', 'a task whose lease ran out was brought back'],
  'task.refused': [
    'error',
    'the database refuses to bring back a task whose lease ran out, or to end one that has expired; it stays as it is and is tried again',
  ],
  'task.log': ['info', 'a handler says something'],
  'lease.lost': ['warn', 'somebody else has the task by now; what this attempt comes to is not recorded'],
  'outcome.busy': ['warn', 'what could not be recorded or given back until the end is left to its lease'],
  'outcome.not_stored': [
    'error',
    'the database could not record an outcome as it was; the task is a dead letter',
  ],
  'outcome.refused': ['error', 'the database records nothing of the task; it is left to its lease'],
} as const satisfies Record<string, readonly [Level, string]>;

export type EventName = keyof typeof EVENTS;

/** Writes one line. The level may be another than the event's own, for a handler's own words. */
export interface EventLog {
  /** Whether anybody hears of what is told at level debug, as every single task is. */
  readonly tellsDebug: boolean;
  event(name: EventName, fields?: Readonly<Record<string, unknown>>): void;
  /** A handler's own line. */
  say(level: Level, message: string, fields: Readonly<Record<string, unknown>>): void;
}
