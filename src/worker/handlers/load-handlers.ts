import { stat } from 'node:fs/promises';
import { TaskqError } from '../../lib/errors.ts';
import { didYouMean } from '../../lib/nearest.ts';
import type { TypeSettings } from '../../queue/protocol/register-worker.ts';
import { findHandlerFiles, type HandlerFile } from './find-handlers.ts';
import type { Isolation } from './handler.ts';
import { type Handler, loadHandler } from './load-handler.ts';

/** A worker's handlers by type. A map, so that no task type can reach anything but a handler. */
export type Handlers = ReadonlyMap<string, Handler>;

/**
 * Load the handlers of a directory, or only those of the given types. `isolation` applies to handlers that do not set
 * it. Throws (exit 2) if the directory does not exist or has no handler, a file does not load, or a type has no file.
 */
export async function loadHandlers(
  directory: string,
  types: readonly string[] | null,
  isolation: Isolation,
): Promise<Handlers> {
  const files = await findHandlerFiles(directory);
  if (files.size === 0) throw await nothingThere(directory);
  const unknown = types?.find((type) => !files.has(type));
  if (unknown !== undefined) {
    throw new TaskqError(
      'unknown_type',
      `no handler for ${unknown} in ${directory}${didYouMean(unknown, [...files.keys()])}`,
    );
  }
  const handlers = new Map<string, Handler>();
  for (const [type, file] of files) {
    if (types !== null && !types.includes(type)) continue;
    // One after the other: otherwise a module imported by two TypeScript files would be loaded twice, once for each.
    const handler = await loadFound(type, file);
    handlers.set(type, { ...handler, isolation: handler.isolation ?? isolation });
  }
  return handlers;
}

/** Load a file that was found. Throws its fault, if it has one, or as `loadHandler` does. */
export async function loadFound(type: string, { path, fault }: HandlerFile): Promise<Handler> {
  if (fault !== undefined) throw fault;
  return loadHandler(type, path);
}

/** The handlers' settings for their types, as the database stores them. */
export function settingsOf(handlers: Handlers): Record<string, TypeSettings> {
  return Object.fromEntries(
    [...handlers.values()].map((handler) => [handler.type, handlerSettings(handler)]),
  );
}

function handlerSettings(handler: Handler): TypeSettings {
  const { timeoutMs, expiresMs, maxAttempts, backoff, retention, breaker, keepLog } = handler;
  const { onFailure, onComplete, onDead } = handler;
  return {
    ...(timeoutMs !== undefined && { timeout_ms: timeoutMs }),
    ...(expiresMs !== undefined && { expires_ms: expiresMs }),
    ...(maxAttempts !== undefined && { max_attempts: maxAttempts }),
    ...(backoff !== undefined && { backoff }),
    ...(retention !== undefined && { retention }),
    ...(breaker !== undefined && { breaker }),
    ...(keepLog !== undefined && { keep_log: keepLog }),
    ...(onFailure !== undefined && { on_failure: onFailure }),
    ...(onComplete !== undefined && { on_complete: onComplete }),
    ...(onDead !== undefined && { on_dead: onDead }),
  };
}

async function nothingThere(directory: string): Promise<TaskqError> {
  const exists = await stat(directory).then(
    (about) => about.isDirectory(),
    () => false,
  );
  return new TaskqError(
    'no_handlers',
    exists ? `no handlers in ${directory}` : `the handlers' directory ${directory} does not exist`,
    {
      hint: 'a handler is a file such as handlers/send-email.ts; --handlers names another directory',
    },
  );
}
