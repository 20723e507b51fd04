import { checkPayload } from '../../domain/check-payload.ts';
import { FAILED, type FunctionAnswer, SUCCEEDED } from '../../domain/function-answer.ts';
import { FunctionError } from '../../domain/function-error.ts';
import { Dead, Retry, signalKindOf } from '../../domain/signals.ts';
import type { StandardSchema } from '../../domain/standard-schema.ts';
import { backingOffMs } from '../../lib/backing-off.ts';
import { parseExact } from '../../lib/exact-json.ts';
import { messageOf, read } from '../../lib/thrown.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import type { HandlerDefinition, HandlerOptions, PrepareContext, TaskContext } from './handler.ts';

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
  /** `failed`: by the provider; else what `before_handler` has answered, `invalid` for a validation failure. */
  | { readonly status: string; readonly error: string };

export interface ChannelDefinition<Payload = unknown> extends HandlerOptions {
  /** Checks what the provider gets. What does not fit is not sent. */
  readonly schema?: StandardSchema<unknown, Payload>;
  /** See `HandlerDefinition`. */
  prepare?(ctx: PrepareContext): void | Promise<void>;
  /**
   * Calls the provider, with `ctx.idempotencyKey` if it can: one that has answered before its worker was lost is called
   * again. What it returns is passed to `success_handler`. An error with a number `retryAfterMs` says when
   * to try again.
   */
  call(payload: Payload, ctx: TaskContext): unknown;
}

/**
 * Returns a handler that calls a provider between functions of the database: `before_handler` prepares the call,
 * `success_handler` or `error_handler` records how it went. With an `error_handler`, a failed call completes the task:
 * whoever recorded the failure decides about another attempt. Without one, it is a failed attempt. Throws TypeError if
 * `call` is no function.
 */
export function defineChannel<Payload>(
  definition: ChannelDefinition<Payload>,
): HandlerDefinition<ChannelPayload, Promise<ChannelResult>> {
  const { schema, call, prepare, ...options } = definition;
  if (typeof call !== 'function') throw new TypeError('defineChannel: call: expected a function');
  return {
    ...options,
    schema: CHANNEL_PAYLOAD,
    ...(prepare && { prepare: (ctx: PrepareContext) => prepare.call(definition, ctx) }),
    async run(payload, ctx) {
      const prepared = await preparedBy(payload, ctx);
      if (prepared instanceof Refusal) return fail(payload, ctx, prepared);
      const checked = await checkPayload(schema as StandardSchema | undefined, prepared.value);
      if ('problem' in checked) return fail(payload, ctx, new Refusal('invalid', checked.problem));
      let answer: unknown;
      try {
        answer = await call.call(definition, checked.value as Payload, ctx);
      } catch (error) {
        if (ctx.signal.aborted || signalKindOf(error) !== null) throw error;
        return fail(payload, ctx, new Refusal(FAILED, messageOf(error), error));
      }
      await recordSuccess(payload, ctx, answer ?? null);
      return { status: SUCCEEDED, worker_payload: answer ?? null };
    },
  };
}

/** Why there is no answer of the provider. */
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
    answer = await callUntilAnswered(name, ctx);
  } catch (error) {
    if (ctx.signal.aborted || !isFunctionError(error)) throw error;
    return new Refusal(FAILED, messageOf(error), error);
  }
  const { status, message } = answer;
  if (status === SUCCEEDED) return { value: answer.payload };
  const why = message ?? `${name} answered ${status}`;
  return new Refusal(status, why, status === FAILED ? new FunctionError('FunctionFailed', why) : undefined);
}

/** With an error handler the task completes, and its error is recorded beside; without, the attempt has failed. */
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
  return { status, error: message };
}

/** Another run would call the provider once more: one whose success cannot be recorded is left to people. */
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
  const { status, message } = await callUntilAnswered(name, ctx, payload);
  if (status === FAILED)
    throw new FunctionError('FunctionFailed', message ?? `${name} answered without success`);
}

/** Calls it again while the database is away, or in each other's way. Without a payload, with that of the task. */
async function callUntilAnswered(name: string, ctx: TaskContext, payload?: object): Promise<FunctionAnswer> {
  for (let failures = 1; ; failures++) {
    try {
      return await ctx.runFunction(name, payload);
    } catch (error) {
      if (ctx.signal.aborted || !isPassing(error)) throw error;
      await new Wakeup().wait(backingOffMs(failures, Math.random()), ctx.signal);
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
function isPassing(error: unknown): boolean {
  return PASSING.test(String(read(error, 'code'))) || LOST.test(messageOf(error));
}

const PASSING = /^(?:08...|40...|53...|55P03|57014|57P..|E[A-Z]+|connection_failed|deadline_passed)$/;
const LOST = /^Connection terminated|not queryable/;

const HANDLERS = ['before_handler', 'success_handler', 'error_handler'] as const;

const CHANNEL_PAYLOAD: StandardSchema<ChannelPayload> = {
  '~standard': {
    version: 1,
    vendor: 'taskq',
    validate(payload) {
      if (Array.isArray(payload) || typeof payload !== 'object' || payload === null)
        return { issues: [{ message: 'expected an object' }] };
      const given = payload as ChannelPayload;
      const wrong = HANDLERS.filter((name) => given[name] !== undefined && !isName(given[name]));
      if (wrong.length === 0) return { value: given };
      return { issues: wrong.map((name) => ({ path: [name], message: 'expected the name of a function' })) };
    },
  },
};

function isName(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}
