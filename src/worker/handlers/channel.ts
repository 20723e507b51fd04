import { checkPayload } from '../../domain/check-payload.ts';
import { FAILED, type FunctionAnswer, SUCCEEDED } from '../../domain/function-answer.ts';
import { FunctionError, type FunctionFault } from '../../domain/function-error.ts';
import { Dead, Retry, signalKindOf } from '../../domain/signals.ts';
import type { StandardSchema } from '../../domain/standard-schema.ts';
import { after } from '../../lib/after.ts';
import { backingOffMs } from '../../lib/backing-off.ts';
import { parseExact } from '../../lib/exact-json.ts';
import { isJsonObject } from '../../lib/json.ts';
import { nearest } from '../../lib/nearest.ts';
import { pause } from '../../lib/pause.ts';
import { shown } from '../../lib/shown.ts';
import { messageOf, read } from '../../lib/thrown.ts';
import type {
  AbortReason,
  HandlerDefinition,
  HandlerOptions,
  PrepareContext,
  TaskContext,
} from './handler.ts';

/** The payload of a channel's task. The functions are named as `schema.function`, and get all of it. */
export interface ChannelPayload {
  /** Prepares what the provider gets; without it, that is the payload. */
  readonly before_handler?: string;
  /** Called with `{ original_payload, worker_payload }` once the provider has answered. */
  readonly success_handler?: string;
  /** Called with `{ original_payload, error }` if it has not. */
  readonly error_handler?: string;
  readonly [name: string]: unknown;
}

/** The result of a channel's task. */
export type ChannelResult =
  | { readonly status: 'succeeded'; readonly worker_payload: unknown }
  /** `failed`: by the provider; else the answer of `before_handler`, `invalid` for a validation failure. */
  | { readonly status: string; readonly error: string };

export interface ChannelDefinition<Payload = unknown> extends HandlerOptions {
  /** Checks what the provider gets. What does not fit is not sent. */
  readonly schema?: StandardSchema<unknown, Payload>;
  /** See `HandlerDefinition`. */
  prepare?(ctx: PrepareContext): void | Promise<void>;
  /**
   * Calls the provider, with `ctx.idempotencyKey` if it takes one: if the worker is lost after the answer, the provider
   * is called again. The returned value is passed to `success_handler`. An error with a number `retryAfterMs` sets the
   * time of the next try. With an `error_handler`, `ctx.signal` is aborted 5 s, or a quarter of the time, before the
   * task's time limit, to leave time for calling it.
   */
  call(payload: Payload, ctx: TaskContext): unknown;
}

/**
 * Returns a handler that calls a provider between functions of the database: `before_handler` prepares the call,
 * `success_handler` or `error_handler` records how it went. With an `error_handler`, a failed call completes the task:
 * the recorder of the failure decides about another attempt. Without one, it is a failed attempt. Throws TypeError if
 * `call` is no function.
 */
export function defineChannel<Payload>(
  definition: ChannelDefinition<Payload>,
): HandlerDefinition<ChannelPayload, Promise<ChannelResult>> {
  const { schema, call, prepare, ...options } = definition;
  if (typeof call !== 'function') throw new TypeError('defineChannel: call: expected a function');
  const found = new Set<string>();
  return {
    ...options,
    schema: CHANNEL_PAYLOAD,
    ...(prepare && { prepare: (ctx: PrepareContext) => prepare.call(definition, ctx) }),
    async run(payload, ctx) {
      const prepared = await preparedBy(payload, ctx);
      if (prepared instanceof Refusal) return fail(payload, ctx, prepared);
      const checked = await checkPayload(schema as StandardSchema | undefined, prepared.value);
      if ('problem' in checked) return fail(payload, ctx, new Refusal('invalid', checked.problem));
      const missing = await missingOf(payload, ctx, found);
      if (missing !== null) return fail(payload, ctx, new Refusal(FAILED, missing.message, missing));
      let answer: unknown;
      try {
        answer = await answeredInTime(ctx, payload, (itsCtx) =>
          call.call(definition, checked.value as Payload, itsCtx),
        );
      } catch (error) {
        if (ctx.signal.aborted || signalKindOf(error) !== null) throw error;
        return fail(payload, ctx, new Refusal(FAILED, messageOf(error), error));
      }
      await recordSuccess(payload, ctx, answer ?? null);
      return { status: SUCCEEDED, worker_payload: answer ?? null };
    },
  };
}

/** Why the provider gave no answer. */
class Refusal {
  readonly status: string;
  readonly message: string;
  readonly cause: unknown;

  constructor(status: string, message: string, cause: unknown = new Error(message)) {
    this.status = status;
    this.message = message;
    this.cause = cause;
  }
}

async function preparedBy(
  payload: ChannelPayload,
  ctx: TaskContext,
): Promise<Refusal | { readonly value: unknown }> {
  const { before_handler: name } = payload;
  if (name === undefined) return { value: payload };
  let answer: FunctionAnswer;
  try {
    answer = await untilAnswered(name, ctx, () => ctx.runFunction(name));
  } catch (error) {
    if (ctx.signal.aborted || !isFunctionError(error)) throw error;
    return new Refusal(FAILED, messageOf(error), error);
  }
  const { status, message } = answer;
  if (status === SUCCEEDED) return { value: answer.payload };
  const why = message ?? `${name} answered ${status}`;
  return new Refusal(status, why, status === FAILED ? new FunctionError('FunctionFailed', why) : undefined);
}

/**
 * Checks the functions to be called after the provider: each once in the life of this process. Returns why one cannot
 * be called.
 */
async function missingOf(
  payload: ChannelPayload,
  ctx: TaskContext,
  found: Set<string>,
): Promise<Error | null> {
  for (const handler of ['success_handler', 'error_handler'] as const) {
    const name = payload[handler];
    if (name === undefined || found.has(name)) continue;
    try {
      await untilAnswered(name, ctx, () => ctx.checkFunction(name));
      found.add(name);
    } catch (error) {
      if (ctx.signal.aborted || !isFunctionError(error)) throw error;
      const message = `${handler} ${shown(name)}: ${messageOf(error)}`;
      return new FunctionError(read(error, 'name') as FunctionFault, message);
    }
  }
  return null;
}

/**
 * How much of the time limit is kept for the error handler: this share of what is left when the call begins, or this
 * long.
 */
const RECORDING = { share: 0.25, mostMs: 5000 };

/**
 * Calls the provider. The task's own timeout would end the attempt without calling the error handler, so with one the
 * call must end earlier: its signal is aborted, and it counts as failed whatever it does then.
 */
async function answeredInTime(
  ctx: TaskContext,
  { error_handler: name }: ChannelPayload,
  call: (ctx: TaskContext) => unknown,
): Promise<unknown> {
  const { timeLeftMs: leftMs } = ctx;
  if (name === undefined || leftMs === null) return call(ctx);
  const late = new AbortController();
  let cancel = () => {};
  const timedOut = new Promise<never>((_, reject) => {
    cancel = after(leftMs - Math.min(leftMs * RECORDING.share, RECORDING.mostMs), () => {
      reject(timeoutError());
      late.abort('timeout' satisfies AbortReason);
    });
  });
  try {
    const signal = AbortSignal.any([ctx.signal, late.signal]);
    return await Promise.race([timedOut, call(withSignal(ctx, signal))]);
  } finally {
    cancel();
  }
}

function timeoutError(): Error {
  const error = new Error('the provider has not answered within the time limit of the task');
  error.name = 'TimeoutError';
  return error;
}

/** The context, with another signal. Its getters read private fields, so they are asked of the context itself. */
function withSignal(ctx: TaskContext, signal: AbortSignal): TaskContext {
  return new Proxy(ctx, { get: (_, name) => (name === 'signal' ? signal : Reflect.get(ctx, name)) });
}

/** With an error handler the task completes, and its error is recorded as well; without one, the attempt has failed. */
async function fail(
  payload: ChannelPayload,
  ctx: TaskContext,
  { status, message, cause }: Refusal,
): Promise<ChannelResult> {
  const { error_handler: name } = payload;
  const retryAfterMs = read(cause, 'retryAfterMs');
  if (name === undefined) {
    if (status !== FAILED) throw new Dead(message);
    if (typeof retryAfterMs === 'number') throw new Retry({ delay: retryAfterMs, message, cause });
    throw cause;
  }
  await record(name, ctx, {
    original_payload: parseExact(ctx.payloadText),
    error: message,
    ...(typeof retryAfterMs === 'number' && { retry_after_s: Math.ceil(retryAfterMs / 1000) }),
  });
  ctx.warn(cause);
  ctx.log.warn(`${name} has recorded a failure`, { status, error: message });
  return { status, error: message };
}

/**
 * Another run would call the provider again, so a success that cannot be recorded becomes a dead letter, for people.
 */
async function recordSuccess(payload: ChannelPayload, ctx: TaskContext, answer: unknown): Promise<void> {
  const { success_handler: name } = payload;
  if (name === undefined) return;
  try {
    await record(name, ctx, {
      original_payload: parseExact(ctx.payloadText),
      worker_payload: answer,
    });
  } catch (cause) {
    if (ctx.signal.aborted) throw cause;
    ctx.log.error(`${name} has failed`, { worker_payload: answer });
    throw new Dead(`the provider has answered, but ${name} has failed: ${messageOf(cause)}`, { cause });
  }
}

async function record(name: string, ctx: TaskContext, payload: object): Promise<void> {
  const { status, message } = await untilAnswered(name, ctx, () => ctx.runFunction(name, payload));
  if (status === FAILED)
    throw new FunctionError('FunctionFailed', message ?? `${name} answered without success`);
}

/** Call a function at most this often if it meets conflicts or its session is lost; then it has failed. */
const MOST_CALLS = 10;

/**
 * Calls it again after an error that may pass: ten times at most, not counting those while the database is away, which
 * the worker logs. Gives up when the attempt has to end.
 */
async function untilAnswered<T>(name: string, ctx: TaskContext, call: () => Promise<T>): Promise<T> {
  let calls = 0;
  for (let failures = 1; ; failures++) {
    try {
      return await call();
    } catch (error) {
      if (ctx.signal.aborted || !maySucceedLater(error)) throw error;
      if (!isUnreachable(error)) {
        calls += 1;
        if (calls === MOST_CALLS) throw error;
        ctx.log.warn(`${name} is called again`, { error: messageOf(error), calls });
      }
      await pause(backingOffMs(failures, Math.random()), ctx.signal);
    }
  }
}

/** Recognized by its name: it comes from the worker, which may be another copy of this package. */
function isFunctionError(error: unknown): boolean {
  return FAULTS.includes(read(error, 'name') as string);
}

const FAULTS: readonly string[] = [
  'UnknownFunction',
  'FunctionNotGranted',
  'FunctionFailed',
  'InvalidAnswer',
];

/** No connection, a conflict with another transaction, or a server without resources: the same call may succeed later. */
function maySucceedLater(error: unknown): boolean {
  return PASSING.test(String(read(error, 'code'))) || LOST.test(messageOf(error));
}

const PASSING = /^(?:08...|40...|53...|55P03|57014|57P..|E[A-Z]+|connection_failed|deadline_passed)$/;
const LOST = /^Connection terminated|not queryable/;

/** There was no connection, so the function was not called. */
function isUnreachable(error: unknown): boolean {
  return !isFunctionError(error) && /^(?:connection_failed|53300|57P03)$/.test(String(read(error, 'code')));
}

const HANDLERS: readonly string[] = ['before_handler', 'success_handler', 'error_handler'];

const CHANNEL_PAYLOAD: StandardSchema<ChannelPayload> = {
  '~standard': {
    version: 1,
    vendor: 'taskq',
    validate(payload) {
      if (!isJsonObject(payload)) return { issues: [{ message: 'expected an object' }] };
      const issues = Object.entries(payload).flatMap(([name, value]) => {
        if (!name.endsWith('_handler')) return [];
        const message = HANDLERS.includes(name) ? misnamed(value) : noSuchHandler(name);
        return message === null ? [] : [{ path: [name], message }];
      });
      return issues.length === 0 ? { value: payload as ChannelPayload } : { issues };
    },
  },
};

/**
 * Before anything is called: otherwise an uncallable success_handler would be found only after the provider has
 * answered.
 */
function misnamed(value: unknown): string | null {
  if (value === undefined || (typeof value === 'string' && FUNCTION_NAME.test(value))) return null;
  return `${shown(value)}: expected schema.function, as comms.record`;
}

const IDENTIFIER = /(?:"(?:[^"]|"")+"|[\p{L}_][\p{L}\d_$]*)/u.source;
const FUNCTION_NAME = new RegExp(`^\\s*${IDENTIFIER}\\s*\\.\\s*${IDENTIFIER}\\s*$`, 'u');

function noSuchHandler(name: string): string {
  const [near] = nearest(name, HANDLERS, 1);
  return `no such handler: ${near === undefined ? `there are ${HANDLERS.join(', ')}` : `did you mean ${near}?`}`;
}
