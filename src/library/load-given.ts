import { resolve } from 'node:path';
import type { HandlerMap } from '../domain/handler-map.ts';
import { checkedName } from '../domain/names.ts';
import { TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';
import type { Isolation } from '../worker/handlers/handler.ts';
import { type Handler, handlerOf } from '../worker/handlers/load-handler.ts';
import { type Handlers, loadHandlers } from '../worker/handlers/load-handlers.ts';

/**
 * Loads the handlers for an application's worker, as `loadGiven` does. Also throws TaskqError for a function that
 * requests its own process.
 */
export async function loadForWorker(
  given: string | HandlerMap,
  types: readonly string[] | null,
  isolation: Isolation,
): Promise<Handlers> {
  const handlers = await loadGiven(given, types, isolation);
  for (const { type, path, isolation: own = isolation } of handlers.values()) {
    if (path !== null || own === 'inline') continue;
    throw refused(
      `the handler of ${type} sets isolation process, which only handlers in files can use`,
      'pass createWorker the directory of the handlers',
    );
  }
  return handlers;
}

/**
 * Loads an application's handlers, from a map or a directory: those of the given types, or all handlers if `types` is
 * null. `isolation` is the default for handlers that set none. Throws TaskqError, which names the type and what is
 * wrong with it.
 */
export async function loadGiven(
  given: string | HandlerMap,
  types: readonly string[] | null,
  isolation: Isolation,
): Promise<Handlers> {
  // A relative directory is relative to the current directory.
  if (typeof given === 'string') return loadHandlers(resolve(given), types, isolation);
  const names = Object.keys(given);
  const unknown = types?.find((type) => !names.includes(type));
  if (unknown !== undefined) throw refused(`no handler for ${unknown}${didYouMean(unknown, names)}`);
  if (names.length === 0) throw refused('no handlers were passed');
  const wanted = names.filter((type) => types === null || types.includes(type));
  return new Map(wanted.map((type) => [type, givenHandler(type, given[type])]));
}

function givenHandler(type: string, definition: unknown): Handler {
  checkedName('type', type);
  if (typeof definition !== 'function' && typeof (definition as { run?: unknown })?.run !== 'function') {
    throw refused(
      `the handler of ${type} is invalid: expected a function, or an object with a function \`run\``,
    );
  }
  return named(type, () => handlerOf(type, null, definition));
}

function named<T>(type: string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof TaskqError)) throw error;
    throw refused(`the handler of ${type}: ${error.message}`, error.hint);
  }
}

function refused(message: string, hint?: string): TaskqError {
  return new TaskqError('bad_handler', message, {
    ...(hint !== undefined && { hint }),
  });
}
