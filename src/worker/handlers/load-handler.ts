import { normaliseBackoff, type StoredBackoff } from '../../domain/backoff.ts';
import { normaliseBreaker, type StoredBreaker } from '../../domain/breaker.ts';
import { type Callback, parseCallback } from '../../domain/callback.ts';
import { normaliseEnqueueOptions, UNLIMITED_ATTEMPTS } from '../../domain/enqueue-options.ts';
import { type KeepLog, parseKeepLog } from '../../domain/keep-log.ts';
import { type OnFailure, parseOnFailure } from '../../domain/on-failure.ts';
import { parseRetention, type Retention } from '../../domain/retention.ts';
import type { StandardSchema } from '../../domain/standard-schema.ts';
import { toDurationMs } from '../../lib/duration.ts';
import { TaskqError } from '../../lib/errors.ts';
import { loadModule } from '../../lib/load-module.ts';
import { didYouMean, nearest } from '../../lib/nearest.ts';
import { onlyCallsFunction } from './db-function.ts';
import { isModule } from './find-handlers.ts';
import type { Isolation, PrepareContext, TaskContext } from './handler.ts';
import { runProgram } from './run-program.ts';

/** A checked handler. Undefined: the handler does not set the option, so other settings apply. */
export interface Handler {
  readonly type: string;
  /** The file it was loaded from; null: it is a function of an application and cannot run in a child process. */
  readonly path: string | null;
  readonly schema: StandardSchema | undefined;
  readonly timeoutMs: number | undefined;
  readonly expiresMs: number | undefined;
  readonly maxAttempts: number | undefined;
  /** How long after it is asked to end it is killed, if it runs in a child process. */
  readonly killAfterMs: number | undefined;
  readonly backoff: StoredBackoff | undefined;
  readonly retention: Retention | undefined;
  readonly breaker: StoredBreaker | undefined;
  readonly keepLog: KeepLog | undefined;
  readonly onFailure: OnFailure | undefined;
  readonly onComplete: Callback | undefined;
  readonly onDead: Callback | undefined;
  readonly isolation: Isolation | undefined;
  /** Whether `run` does nothing but call the SQL function that its payload names. */
  readonly onlyCallsFunction: boolean;
  /** How `run` takes the payload: a module as a value, a program as the stored JSON text, with numbers of any size. */
  readonly takes: 'value' | 'text';
  /** Throws if something that it needs is missing; undefined: it needs nothing. */
  readonly prepare: ((ctx: PrepareContext) => unknown) | undefined;
  run(payload: unknown, ctx: TaskContext): unknown;
}

/**
 * Load a handler file: a module's default export, or a program, which runs in a child process. Throws
 * `handler_not_loaded` (exit 2), which names the file and what is wrong with it.
 */
export async function loadHandler(type: string, path: string): Promise<Handler> {
  if (!isModule(path)) {
    const run: Handler['run'] = (payload, ctx) => runProgram(path, payload as string, ctx);
    return { ...handlerOf(type, path, { isolation: 'process', run }), takes: 'text' };
  }
  try {
    const exports = await loadModule(path);
    // CommonJS compiled from ESM: `module.exports.default`.
    const exported = exports.default as { default?: unknown } | undefined;
    const definition = isDefinition(exported) ? exported : (exported?.default ?? exported);
    return handlerOf(type, path, definition, optionsBeside(exports));
  } catch (error) {
    if (!(error instanceof TaskqError)) throw error;
    const message = error.message.startsWith(path) ? error.message : `${path}: ${error.message}`;
    throw new TaskqError('handler_not_loaded', message, {
      ...(error.hint !== undefined && { hint: error.hint }),
      cause: error.cause ?? error,
    });
  }
}

/**
 * Check a handler given by a file or an application; `beside` holds the options of a bare function. Throws TaskqError.
 */
export function handlerOf(
  type: string,
  path: string | null,
  definition: unknown,
  beside: Readonly<Record<string, unknown>> = {},
): Handler {
  if (typeof definition === 'function') {
    return handlerOf(type, path, { ...beside, run: definition as Handler['run'] });
  }
  if (!isDefinition(definition)) {
    throw refused(
      'exports no handler: the default export must be a function or an object with a function `run`',
    );
  }
  refuseBeside(Object.keys(beside));
  const unknown = Object.keys(definition).find((key) => !KEYS.includes(key));
  if (unknown !== undefined) throw refused(`unknown option "${unknown}"${didYouMean(unknown, KEYS)}`);
  const { schema, timeout, expires, killAfter, maxAttempts, backoff, retention, breaker, keepLog } =
    definition;
  const { onFailure, onComplete, onDead } = definition;
  return {
    type,
    path,
    schema: schema === undefined ? undefined : schemaOf(schema),
    timeoutMs: timeout === undefined ? undefined : toDurationMs(timeout, 'timeout'),
    expiresMs: expires === undefined ? undefined : normaliseEnqueueOptions({ expires }).expires_ms,
    killAfterMs: killAfter === undefined ? undefined : toDurationMs(killAfter, 'killAfter'),
    maxAttempts: maxAttempts === undefined ? undefined : maxAttemptsOf(maxAttempts),
    backoff: backoff === undefined ? undefined : normaliseBackoff(backoff),
    retention: retention === undefined ? undefined : parseRetention(retention),
    breaker: breaker === undefined ? undefined : normaliseBreaker(breaker),
    keepLog: keepLog === undefined ? undefined : parseKeepLog(keepLog),
    onFailure: onFailure === undefined ? undefined : parseOnFailure(onFailure),
    onComplete: callbackOf(type, 'onComplete', onComplete),
    onDead: callbackOf(type, 'onDead', onDead),
    isolation: isolationOf(definition.isolation),
    onlyCallsFunction: onlyCallsFunction(definition.run),
    takes: 'value',
    prepare: prepareOf(definition),
    run: (payload, ctx) => definition.run(payload, ctx),
  };
}

/** The named exports that are options, and those with names close to an option's, which the check then refuses. */
function optionsBeside(exports: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const isMeant = ([name, value]: [string, unknown]) =>
    OPTIONS.includes(name) || (!isOtherFunction(value) && nearest(name, OPTIONS).length > 0);
  const named = Object.entries(exports).filter(([name]) => name !== 'default' && name !== 'run');
  return Object.fromEntries(named.filter(isMeant));
}

/** Refuse options that are exported beside a handler object: only a bare function takes them. */
function refuseBeside(names: readonly string[]): void {
  const own = names.filter((name) => OPTIONS.includes(name));
  if (own.length === 0) return;
  throw refused(`exports "${own.join('", "')}" beside a handler object: put it into the object`);
}

/** A function exported for other files, such as `schemaOf`; a schema may be a function too. */
function isOtherFunction(value: unknown): boolean {
  return typeof value === 'function' && !('~standard' in value);
}

interface RawDefinition {
  readonly [key: string]: unknown;
  run(payload: unknown, ctx: TaskContext): unknown;
}

const OPTIONS = [
  'schema',
  'timeout',
  'expires',
  'killAfter',
  'maxAttempts',
  'backoff',
  'retention',
  'breaker',
  'keepLog',
  'onFailure',
  'onComplete',
  'onDead',
  'isolation',
];
const KEYS = [...OPTIONS, 'prepare', 'run'];

function isDefinition(value: unknown): value is RawDefinition {
  return typeof value === 'object' && value !== null && typeof (value as RawDefinition).run === 'function';
}

function schemaOf(schema: unknown): StandardSchema {
  const standard = (schema as StandardSchema | null)?.['~standard'];
  if (typeof standard?.validate === 'function') return schema as StandardSchema;
  throw refused('schema: expected a Standard Schema, as zod, valibot and arktype make them');
}

function maxAttemptsOf(value: unknown): number {
  if (value === 'unlimited') return UNLIMITED_ATTEMPTS;
  if (Number.isInteger(value) && (value as number) >= 1 && (value as number) <= UNLIMITED_ATTEMPTS) {
    return value as number;
  }
  throw refused(`maxAttempts ${JSON.stringify(value)}: expected a number from 1 on, or 'unlimited'`);
}

function callbackOf(type: string, option: 'onComplete' | 'onDead', value: unknown): Callback | undefined {
  if (value === undefined) return undefined;
  const callback = parseCallback(value, option);
  if (callback.type !== type) return callback;
  throw refused(`${option} ${JSON.stringify(type)}: a type cannot follow itself`);
}

function prepareOf(definition: RawDefinition): Handler['prepare'] {
  if (definition.prepare === undefined) return undefined;
  if (typeof definition.prepare !== 'function') throw refused('prepare: expected a function');
  return (ctx) => (definition.prepare as (ctx: PrepareContext) => unknown)(ctx);
}

function isolationOf(value: unknown): Isolation | undefined {
  if (value === undefined || value === 'inline' || value === 'process') return value;
  throw refused(`isolation ${JSON.stringify(value)}: expected 'inline' or 'process'`);
}

function refused(message: string): TaskqError {
  return new TaskqError('bad_handler', message);
}
