import { TaskqError } from '../../lib/errors.ts';
import { messageOf } from '../../lib/thrown.ts';
import type { PrepareContext } from './handler.ts';
import type { Handler } from './load-handler.ts';
import type { Handlers } from './load-handlers.ts';

/** Lets each handler check that it has what it needs. Throws `handler_not_ready` (exit 2) for the first that has not. */
export async function prepareHandlers(handlers: Handlers, ctx: PrepareContext): Promise<void> {
  for (const handler of handlers.values()) {
    try {
      await handler.prepare?.(ctx);
    } catch (error) {
      throw notReady(handler, error);
    }
  }
}

function notReady({ type, path }: Handler, error: unknown): TaskqError {
  const { hint } = (error ?? {}) as { readonly hint?: unknown };
  return new TaskqError('handler_not_ready', `${path ?? `the handler of ${type}`}: ${messageOf(error)}`, {
    ...(typeof hint === 'string' && { hint }),
    cause: error,
  });
}
