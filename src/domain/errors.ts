import { countOf, withCommas } from '../lib/count.ts';
import { TaskqError, type TaskqErrorOptions } from '../lib/errors.ts';
import { didYouMean, nearest } from '../lib/nearest.ts';
import { messageOf } from '../lib/thrown.ts';

/** Thrown for a type that neither these handlers nor the database know. */
export class UnknownTypeError extends TaskqError {
  override readonly code = 'unknown_type';
  readonly type: string;
  /** Known types like it, nearest first; may be empty. */
  readonly nearest: readonly string[];

  /** `where`: where the type was looked for in vain. */
  constructor(
    type: string,
    known: readonly string[],
    { where, ...options }: TaskqErrorOptions & { readonly where?: string } = {},
  ) {
    const place = where === undefined ? '' : `: ${where}`;
    super('unknown_type', `unknown type ${JSON.stringify(type)}${didYouMean(type, known)}${place}`, {
      hint: 'start a worker that handles it, run taskq types add, or set allowUnknown',
      ...options,
    });
    this.name = 'UnknownTypeError';
    this.type = type;
    this.nearest = nearest(type, known);
  }
}

/** Thrown for a payload that its handler's schema refuses or that the database cannot store. */
export class InvalidPayloadError extends TaskqError {
  override readonly code = 'invalid_payload';
  readonly type: string;
  /** What is wrong and where: `$.to: expected text`. */
  readonly problem: string;

  constructor(type: string, problem: string, cause?: unknown) {
    super('invalid_payload', `the payload does not fit ${type}: ${problem}`, { cause });
    this.name = 'InvalidPayloadError';
    this.type = type;
    this.problem = problem;
  }
}

/** Thrown when an enqueue of many tasks fails midway; transactions committed before remain. */
export class PartlyEnqueuedError extends TaskqError {
  override readonly code = 'partly_enqueued';
  /** The number of leading tasks that are enqueued. */
  readonly enqueued: number;
  /** The number of tasks after those that may be enqueued: the connection broke before the server answered. */
  readonly uncertain: number;

  constructor(cause: unknown, enqueued: number, uncertain: number) {
    const why = messageOf(cause);
    const known = cause instanceof TaskqError ? cause : undefined;
    super('partly_enqueued', `${why}; ${whatIsIn(enqueued, uncertain)}`, {
      ...(known?.hint !== undefined && { hint: known.hint }),
      cause,
    });
    this.name = 'PartlyEnqueuedError';
    this.enqueued = enqueued;
    this.uncertain = uncertain;
  }
}

function whatIsIn(enqueued: number, uncertain: number): string {
  if (enqueued === 0 && uncertain === 0) return 'nothing is enqueued';
  if (enqueued === 0) return `${firstOf(uncertain)} may be enqueued`;
  const doubt = uncertain > 0 ? `, the next ${withCommas(uncertain)} may be` : '';
  return `${firstOf(enqueued)} ${enqueued === 1 ? 'is' : 'are'} enqueued${doubt}`;
}

function firstOf(count: number): string {
  return count === 1 ? 'the first task' : `the first ${countOf(count, 'task')}`;
}

/** Thrown for a task that never existed, was purged or discarded, or outlived its retention. */
export class NoSuchTaskError extends TaskqError {
  override readonly code = 'no_such_task';
  readonly id: string;

  constructor(id: string) {
    super(
      'no_such_task',
      `no task ${id}: it never existed, or was deleted by purge, discard or its retention`,
    );
    this.name = 'NoSuchTaskError';
    this.id = id;
  }
}

/** Thrown when a task or workflow has not ended by the end of the wait. It continues. */
export class WaitDeadlineError extends TaskqError {
  override readonly code = 'wait_deadline';
  readonly id: string;

  constructor(
    id: string,
    what: 'task' | 'workflow' = 'task',
    {
      how = 'has not ended in time and continues',
      hint,
    }: { readonly how?: string; readonly hint?: string } = {},
  ) {
    super('wait_deadline', `${what} ${id} ${how}`, hint === undefined ? {} : { hint });
    this.name = 'WaitDeadlineError';
    this.id = id;
  }
}
