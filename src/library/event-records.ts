import type { FinishedStatus, WorkflowPlace } from '../domain/task.ts';
import { badOption } from '../lib/bad-option.ts';
import type { EventRow } from '../queue/inspect/read-events.ts';
import { known } from './known-options.ts';
import type { Connection } from './open-connection.ts';
import type { TaskRecord } from './task-record.ts';

/** Which events `TaskQueue.events` yields. */
export interface EventOptions {
  /**
   * The position of the last event that was processed, or `now` for ends after the start of the iteration. Default: the
   * oldest kept event.
   */
  readonly after?: string | undefined;
  /** Aborting it ends the iteration. */
  readonly signal?: AbortSignal | undefined;
}

/** The end of a task. */
export interface TaskEvent {
  /** Store it once the event is processed: an iteration `after` it misses nothing. */
  readonly position: string;
  readonly at: Date;
  readonly id: string;
  readonly queue: string;
  readonly type: string;
  readonly status: FinishedStatus | 'dead';
  /** The reason of a cancellation or a death. */
  readonly reason: string | null;
  /** Attempts that counted, up to the end. */
  readonly attempts: number;
  readonly key: string | null;
  readonly group: string | null;
  readonly workflow: WorkflowPlace | null;
  readonly tags: TaskRecord['tags'];
}

/** Options of `TaskQueue.events` that are valid. */
export interface CheckedEventOptions {
  readonly after: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** Throws TaskqError `bad_option`. */
export function checkedEventOptions(options: EventOptions): CheckedEventOptions {
  const { after, signal } = known(options, { after: true, signal: true });
  if (after !== undefined && typeof after !== 'string')
    throw badOption('after: expected the position of an event, or now');
  return { after, signal };
}

/** Yields events as they come, until one of the signals aborts. */
export async function* taskEvents(
  { eventPages }: Connection,
  { after, signal }: CheckedEventOptions,
  closed: AbortSignal,
): AsyncGenerator<TaskEvent, void, undefined> {
  const ended = signal === undefined ? closed : AbortSignal.any([signal, closed]);
  for await (const page of eventPages({ after, follows: true, signal: ended })) {
    for (const row of page) {
      if (ended.aborted) return;
      yield eventOf(row);
    }
  }
}

/** Converts a row of `taskq.events_after`. */
export function eventOf({ group_key: group, workflow_id, step, at, ...same }: EventRow): TaskEvent {
  const workflow = workflow_id === null ? null : { id: workflow_id, step };
  return { ...same, at: new Date(at), group, workflow };
}
