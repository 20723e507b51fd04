import { FAILED, type FunctionAnswer } from '../../domain/function-answer.ts';
import { FunctionError } from '../../domain/function-error.ts';
import type { OnFailure } from '../../domain/on-failure.ts';
import type { StandardSchema } from '../../domain/standard-schema.ts';
import { isJsonObject } from '../../lib/json.ts';
import type { HandlerDefinition, HandlerOptions, TaskContext } from './handler.ts';

/** The payload of a `db_function` task. All of it is passed to the function. */
export interface DbFunctionPayload {
  /** Its name, `schema.function`. */
  readonly db_function: string;
  readonly [name: string]: unknown;
}

/** How a handler of `db_function` tasks runs them. */
export interface DbFunctionOptions extends HandlerOptions {
  /**
   * Whether what the function writes is committed together with the completion of its task, and so takes effect once,
   * even if the worker is lost. It costs a commit for each task. Default: false.
   */
  readonly atomic?: boolean;
  /**
   * See `HandlerOptions`. `'retry'`, also in a queue where failures complete a task: a supervisor that ended so would
   * not have enqueued its next run, and its process would be lost.
   */
  readonly onFailure?: OnFailure;
}

/**
 * Returns a handler that calls the SQL function named in the payload. The function's answer is the task's result, also
 * with a status other than `succeeded`. Requires the schema of `taskq migrate --with queues`.
 */
export function dbFunctionHandler({
  atomic = false,
  onFailure = 'retry',
  ...options
}: DbFunctionOptions = {}): HandlerDefinition<DbFunctionPayload, Promise<unknown>> {
  return {
    ...options,
    onFailure,
    schema,
    prepare: (ctx) => ctx.checkFunctions(),
    run: atomic ? runAtomic : run,
  };
}

async function run({ db_function: name }: DbFunctionPayload, ctx: TaskContext): Promise<unknown> {
  return resultOf(name, await ctx.runFunction(name));
}

async function runAtomic({ db_function: name }: DbFunctionPayload, ctx: TaskContext): Promise<unknown> {
  return ctx.transaction(async (client) =>
    resultOf(name, await ctx.runFunction(name, undefined, { client })),
  );
}

/** Marks a `run` that does nothing but call the function of its payload; the same in each copy of the package. */
const ONLY_CALLS = Symbol.for('taskq.onlyCalls');
Object.defineProperty(run, ONLY_CALLS, { value: true });

/** Whether a handler's `run` does nothing but call the function named in its payload. */
export function onlyCallsFunction(handlerRun: object): boolean {
  return ONLY_CALLS in handlerRun;
}

/** The name of the function that a payload names, JSON text; undefined: it names none. */
export function functionOf(payload: string): string | undefined {
  const { db_function: name } = (JSON.parse(payload) ?? {}) as { readonly db_function?: unknown };
  return typeof name === 'string' ? name : undefined;
}

/** A function may report a failure instead of raising an error. */
function resultOf(name: string, { status, message, answer }: FunctionAnswer): unknown {
  if (status === FAILED)
    throw new FunctionError('FunctionFailed', message ?? `${name} answered without success`);
  return answer;
}

const schema: StandardSchema<DbFunctionPayload> = {
  '~standard': {
    version: 1,
    vendor: 'taskq',
    validate(payload) {
      const { db_function: name } = (payload ?? {}) as { readonly db_function?: unknown };
      if (!isJsonObject(payload)) return { issues: [{ message: 'expected an object' }] };
      if (typeof name === 'string' && name.trim() !== '') return { value: payload as DbFunctionPayload };
      return { issues: [{ path: ['db_function'], message: 'expected the name of a function' }] };
    },
  },
};
