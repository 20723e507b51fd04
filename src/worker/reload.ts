import { backingOffMs } from '../lib/backing-off.ts';
import { isPassing, type Queryable } from '../lib/database.ts';
import { TaskqError } from '../lib/errors.ts';
import { pause } from '../lib/pause.ts';
import { messageOf } from '../lib/thrown.ts';
import { reloadWorker } from '../queue/protocol/register-worker.ts';
import { checkRunFunction } from '../queue/protocol/run-function.ts';
import type { Handlers } from './handlers/load-handlers.ts';
import { prepareHandlers } from './handlers/prepare-handlers.ts';
import type { WatchedHandlers } from './handlers/watched-handlers.ts';
import type { Heartbeats } from './heartbeat/heartbeats.ts';
import { declaredSettings, logLeftOut } from './registration.ts';
import type { WorkerState } from './worker-state.ts';

/** The most names in one log line. */
const MOST_NAMES = 20;

/**
 * Check once for changed handlers. A set that loads completely is stored in the database, then used; if it does not
 * load, a log line says why and the current set stays.
 */
export async function reload(
  watched: WatchedHandlers,
  db: Queryable,
  state: WorkerState,
  heartbeats: Heartbeats,
): Promise<void> {
  const { events } = state;
  const { stop } = state.shutdown;
  const news = await watched.reload(stop);
  if (news === undefined || stop.aborted) return;
  const changed = news.changed.slice(0, MOST_NAMES);
  if ('error' in news) {
    events.event('handlers.not_reloaded', { changed, error: { message: news.error.message } });
    return;
  }
  const { handlers } = news;
  let isStored: boolean;
  try {
    await retryPassing(stop, () => prepareHandlers(handlers, { checkFunctions: () => checkRunFunction(db) }));
    isStored = await retryPassing(stop, () => storeSettings(db, state, handlers));
  } catch (error) {
    if (!stop.aborted)
      events.event('handlers.not_reloaded', { changed, error: { message: messageOf(error) } });
    if (!isNotReady(error)) throw error;
    return;
  }
  // A pending store of the previous handlers may finish after this one: then store once more.
  state.unstored = isStored && state.unstored === undefined ? undefined : handlers;
  const before = state.handlers;
  state.exchange(handlers);
  heartbeats.sendCursors(state.cursor.snapshot());
  events.event('handlers.reloaded', {
    changed,
    added: [...handlers.keys()].filter((type) => !before.has(type)),
    removed: [...before.keys()].filter((type) => !handlers.has(type)),
  });
}

/**
 * Store the settings before the handlers are used, so that they decide what follows from a new handler's first attempt.
 * False: others have rows locked, and the settings are stored later. Throws if the database refuses them.
 */
async function storeSettings(
  db: Queryable,
  { workerId, options, events }: WorkerState,
  handlers: Handlers,
): Promise<boolean> {
  const { isStored, leftOut } = await reloadWorker(
    db,
    workerId,
    declaredSettings(handlers, options.tasks.configured),
  );
  if (isStored) logLeftOut(events, leftOut);
  return isStored;
}

/** A handler lacks what it needs. */
function isNotReady(error: unknown): error is TaskqError {
  return error instanceof TaskqError && error.code === 'handler_not_ready';
}

/** Retry while the database does not answer or is busy: the files are not looked at again until the next edit. */
async function retryPassing<Value>(stop: AbortSignal, work: () => Promise<Value>): Promise<Value> {
  for (let failures = 1; ; failures++) {
    try {
      return await work();
    } catch (error) {
      if (!isPassing(isNotReady(error) ? error.cause : error) || stop.aborted) throw error;
      await pause(backingOffMs(failures, Math.random()), stop);
    }
  }
}
