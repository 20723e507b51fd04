import { FAILED, type FunctionAnswer } from '../../domain/function-answer.ts';
import { FunctionError } from '../../domain/function-error.ts';
import type { StandardSchema } from '../../domain/standard-schema.ts';
import type { HandlerDefinition, HandlerOptions } from './handler.ts';

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
   * whenever the worker is lost. It costs a commit for each task. Default: false.
   */
  readonly atomic?: boolean;
}

/**
 * Returns a handler that calls the SQL function named in the payload. The function's answer is the task's result, also
 * with a status other than `succeeded`. Requires the schema of `taskq migrate --with queues`.
 */
export function dbFunctionHandler({
  atomic = false,
  ...options
}: DbFunctionOptions = {}): HandlerDefinition<DbFunctionPayload, Promise<unknown>> {
  return {
    ...options,
    schema,
    prepare: (ctx) => ctx.checkFunctions(),
    async run({ db_function: name }, ctx) {
      if (!atomic) return resultOf(name, await ctx.runFunction(name));
      return ctx.transaction(async (client) =>
        resultOf(name, await ctx.runFunction(name, undefined, { client })),
      );
    },
  };
}

/** A function may say that it has failed, instead of raising an error. */
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
      if (Array.isArray(payload) || typeof payload !== 'object' || payload === null)
        return { issues: [{ message: 'expected an object' }] };
      if (typeof name === 'string' && name.trim() !== '') return { value: payload as DbFunctionPayload };
      return { issues: [{ path: ['db_function'], message: 'expected the name of a function' }] };
    },
  },
};
