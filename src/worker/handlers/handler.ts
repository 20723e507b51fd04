import type { Backoff } from '../../domain/backoff.ts';
import type { Breaker } from '../../domain/breaker.ts';
import type { Callback } from '../../domain/callback.ts';
import type { FollowUpOptions } from '../../domain/follow-ups.ts';
import type { FunctionAnswer } from '../../domain/function-answer.ts';
import type { KeepLog } from '../../domain/keep-log.ts';
import type { OnFailure } from '../../domain/on-failure.ts';
import type { StandardSchema } from '../../domain/standard-schema.ts';
import type { TaskStatus, WorkflowPlace } from '../../domain/task.ts';
import type { TransactionClient } from '../../lib/open-transaction.ts';

/** Why a handler was asked to end. */
export type AbortReason = 'timeout' | 'cancelled' | 'lost' | 'shutdown';

/** Writes log lines that name the task. Values passed beside the message are logged in `fields`. */
export interface TaskLog {
  /** Written only if `logLevel` is `debug`. */
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Normal progress. */
  info(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Something that may need attention. */
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
  /** Something that failed although the attempt continues. */
  error(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** How a parent of a step has ended. */
export interface ParentEnd {
  /** `completed`; with `onDeath: 'continue'` also `dead`, `cancelled` or `expired`; or live again, if it was revived. */
  readonly status: TaskStatus | 'gone';
  /** Its result; null if it has none. */
  readonly result: unknown;
}

/** How the parent of this name has ended. */
export interface NamedParentEnd extends ParentEnd {
  readonly step: string;
}

/** What a handler does in its transaction; the value that it returns is the task's result. */
export type TransactionWork<T> = (client: TransactionClient) => T | Promise<T>;

export interface RunFunctionOptions {
  /** That of `ctx.transaction`: the function is called in this transaction. */
  readonly client?: TransactionClient;
}

/** What a handler receives besides its payload. */
export interface TaskContext {
  /** The task's number, as text. */
  readonly id: string;
  /** Its type, which names the handler. */
  readonly type: string;
  /** The queue it is in. */
  readonly queue: string;
  /** The payload as the JSON text that is stored, with numbers of any size. */
  readonly payloadText: string;
  /**
   * The same for every attempt of the task, and different for every other task of any database, except copies of this
   * one: pass it to a provider that must not act twice. It is the UUID of the installation followed by the task's id.
   */
  readonly idempotencyKey: string;
  /** 1 for the first attempt: the failed ones so far, plus this one. */
  readonly attempt: number;
  /** The W3C trace context that the producer gave the task; null: none. */
  readonly traceparent: string | null;
  /** The tick of the schedule that enqueued the task, whenever it runs; null: it was not enqueued at a tick. */
  readonly tick: Date | null;
  /** The workflow that the task belongs to, and which step of it it is; null: it belongs to none. */
  readonly workflow: WorkflowPlace | null;
  /** Aborted when the handler should end; its `reason` is an AbortReason. */
  readonly signal: AbortSignal;
  /** Milliseconds left of the attempt's time limit; null: it has none. */
  readonly timeLeftMs: number | null;
  /** Writes lines of the worker's log that name the task. */
  readonly log: TaskLog;
  /**
   * Reports progress: a share from 0 to 1, or any other number, and a text of at most 1 KB. The last report is stored,
   * once a second at most. Throws TypeError if it is not a number.
   */
  progress(value: number, text?: string): void;
  /** Records an error that does not fail the attempt: stored with the errors of the task, at most 100 an attempt. */
  warn(error: unknown): void;
  /**
   * Returns how the parents of its step have ended, by their names: those named, or all. `{}` if it is not a step, or
   * has no parents. Each call reads them again. Throws TaskqError if the results together are larger than 16 MB, or if
   * a name is not that of a parent. Reading the `result` of a parent whose result could not be stored throws as well.
   */
  parents<Step extends string = string>(steps?: readonly Step[]): Promise<Readonly<Record<Step, ParentEnd>>>;
  /** The same, one after another, however large they are together: `for await (const { step, result } of …)`. */
  eachParent(): AsyncIterable<NamedParentEnd>;
  /**
   * Runs `work` in a transaction of the task's database whose last statement completes the task: what it has written
   * and the completion are committed together, or neither is. Return its promise: what the handler does afterwards has
   * no effect. Rolled back, and rejected, if `work` throws or the attempt has to end.
   */
  transaction<T>(work: TransactionWork<T>): Promise<T>;
  /**
   * Calls a SQL function by its name, `schema.function`, which takes one jsonb and answers in one, with this payload or
   * the task's own, in a transaction of its own. Rejects with its error if it cannot be called, raises, answers
   * something that cannot be read, or the attempt has to end: then nothing is committed.
   */
  runFunction(name: string, payload?: unknown, options?: RunFunctionOptions): Promise<FunctionAnswer>;
  /** Rejects with the error of `runFunction` if there is no SQL function of this name, or it may not be called. */
  checkFunction(name: string): Promise<void>;
  /**
   * Enqueues a task with the end of this one: it is stored in the transaction that records the completion, and not at
   * all if the attempt ends otherwise. Resolves when the task is checked; it has no id before the end. Throws TaskqError
   * for an invalid option, InvalidPayloadError if the schema of a handler of this worker refuses the payload. At most
   * 10,000 tasks, with 16 MB of JSON together.
   */
  enqueue(type: string, payload?: unknown, options?: FollowUpOptions): Promise<void>;
}

/** What a handler's `prepare` receives, before a worker takes tasks of its type. */
export interface PrepareContext {
  /** Rejects, with what to do, if SQL functions cannot be called from here (`ctx.runFunction`). */
  checkFunctions(): Promise<void>;
}

/** `inline`: in the worker's own process. `process`: in a child process, which can be killed. */
export type Isolation = 'inline' | 'process';

/** What a handler file may set for its type, besides how to run it. */
export interface HandlerOptions {
  /** Time limit of an attempt: `'30s'`, or milliseconds. */
  readonly timeout?: string | number;
  /** How long after its timeout or cancellation it is killed, if it runs in its own process; `'2s'`. */
  readonly killAfter?: string | number;
  /** A task is not started if this long has passed since it was due: `'1h'`, or milliseconds. */
  readonly expires?: string | number;
  /** Attempts before a task becomes a dead letter. */
  readonly maxAttempts?: number | 'unlimited';
  /** Wait after a failed attempt. */
  readonly backoff?: Backoff;
  /** How long a finished task is kept: `'none'`, `'ever'`, or days such as `'7d'`. */
  readonly retention?: string;
  /** Stop starting its tasks when they keep failing: `'5/1m'`, or `{ failures: 5, within: '1m', probeAfter: '30s' }`. */
  readonly breaker?: string | Breaker;
  /** Which attempts keep the last 100 lines of `ctx.log`: `'failed'` (default), `'always'` or `'none'`. */
  readonly keepLog?: KeepLog;
  /**
   * What the failure of an attempt does to its task: `'retry'` (default), or `'complete'`: it ends as completed, and
   * its error is recorded.
   */
  readonly onFailure?: OnFailure;
  /** A task to enqueue when one completes: a type, or `{ type, queue, payload }`. */
  readonly onComplete?: string | Callback;
  /** The same for one that becomes a dead letter. */
  readonly onDead?: string | Callback;
  /** Where it runs: in the worker's process, or in its own process, which can be killed. */
  readonly isolation?: Isolation;
}

/** What a handler file may export by default, besides a bare function. */
export interface HandlerDefinition<Payload = unknown, Result = unknown, Input = Payload>
  extends HandlerOptions {
  /** Checks the payload when a task is enqueued from here, and again before each run. */
  readonly schema?: StandardSchema<Input, Payload>;
  /**
   * Runs once before a worker takes tasks of its type, and after each reload: throws if something it needs is missing.
   * Then the worker does not start, or keeps its current handlers.
   */
  prepare?(ctx: PrepareContext): void | Promise<void>;
  /** Runs an attempt. The value it returns is the task's result; an error it throws fails the attempt. */
  run(payload: Payload, ctx: TaskContext): Result;
}

/**
 * Define a handler. Returns the definition unchanged; it exists for the types: the payload is what the schema returns,
 * or the type of `run`'s first parameter.
 */
export function defineHandler<Input, Payload, Result>(
  definition: HandlerDefinition<Payload, Result, Input> & {
    readonly schema: StandardSchema<Input, Payload>;
  },
): HandlerDefinition<Payload, Result, Input>;
export function defineHandler<Payload = unknown, Result = unknown>(
  definition: HandlerDefinition<Payload, Result>,
): HandlerDefinition<Payload, Result>;
export function defineHandler(definition: HandlerDefinition): HandlerDefinition {
  return definition;
}
