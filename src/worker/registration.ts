import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Queryable } from '../lib/database.ts';
import { packageVersion } from '../lib/package-root.ts';
import {
  type CallbacksLeftOut,
  type DeclaredSettings,
  type Difference,
  registerWorker,
  reloadWorker,
  unregisterWorker,
} from '../queue/protocol/register-worker.ts';
import { type Handlers, settingsOf } from './handlers/load-handlers.ts';
import type { FirstRegistered } from './lease/registered-worker.ts';
import type { EventLog } from './log/events.ts';
import type { ConfiguredSettings, WorkerOptions } from './worker-options.ts';
import type { WorkerState } from './worker-state.ts';

/** Merge the task settings of handlers and configuration; the configuration wins for the types it names. */
export function declaredSettings(
  handlers: Handlers,
  configured: ConfiguredSettings | undefined,
): DeclaredSettings {
  const own = Object.entries(settingsOf(handlers));
  const configuredOf = (type: string) =>
    configured !== undefined && Object.hasOwn(configured.types, type) ? configured.types[type] : undefined;
  return {
    types: Object.fromEntries(own.map(([type, settings]) => [type, { ...settings, ...configuredOf(type) }])),
    defaults: configured?.defaults,
    queueSettings: configured?.queues,
  };
}

/** Register a worker that starts. */
export async function registerAtFirst(db: Queryable, options: WorkerOptions): Promise<FirstRegistered> {
  const { concurrency, batch, queues, paused } = options.claims;
  const { leaseMs, pollMs } = options.times;
  const uniquePart = randomBytes(4).toString('hex');
  const registered = await registerWorker(db, {
    ...{ ...aboutOf(options, options.tasks.handlers), uniquePart },
    ...{ concurrency, leaseMs, pollMs, batch, queues, paused },
  });
  return { ...registered, uniquePart };
}

/**
 * Register a worker again whose row is gone, with what it does now. A failover may have lost the row, or other workers
 * have removed it, if this one was suspended for weeks.
 */
export async function registerAgain(db: Queryable, state: WorkerState): Promise<void> {
  if (!state.isForgotten) return;
  // If this fails, the next heartbeat reports the missing row again.
  state.isForgotten = false;
  const { options, events, handlers, workerId, uniquePart, lease, orders } = state;
  const { concurrency, pollMs, batch, queues, paused } = orders;
  const { differing, leftOut, typesLeft } = await registerWorker(db, {
    ...aboutOf(options, handlers),
    ...{ concurrency, leaseMs: lease.longestMs, pollMs, batch, queues, paused, workerId, uniquePart },
  });
  if (typesLeft) state.unstored = handlers;
  events.event('worker.registered_again', { worker_id: workerId });
  logDifferences(events, differing);
  logLeftOut(events, leftOut);
}

function aboutOf({ process: { name }, tasks }: WorkerOptions, handlers: Handlers) {
  return { name, version: packageVersion(), ...declaredSettings(handlers, tasks.configured) };
}

/** Log each setting for which another worker or an operator has a different value. */
export function logDifferences(events: EventLog, differing: readonly Difference[]): void {
  for (const { type, queue, setting, value, other, by } of differing) {
    const fields = {
      ...(type !== null && { type }),
      ...(queue !== null && { queue }),
      setting,
      value,
      other,
    };
    if (by === null) events.event('setting.overruled', fields);
    else events.event('setting.disputed', { ...fields, other_worker: by });
  }
}

/** Log the types whose `onComplete` and `onDead` are not stored, and why. */
export function logLeftOut(events: EventLog, leftOut: readonly CallbacksLeftOut[]): void {
  for (const { type, fault } of leftOut) events.event('callbacks.left_out', { type, fault });
}

/** Retry storing settings that others had locked when the worker registered or reloaded its handlers. */
export async function storeTypes(db: Queryable, state: WorkerState): Promise<void> {
  const { unstored } = state;
  if (unstored === undefined) return;
  const { isStored, leftOut } = await reloadWorker(
    db,
    state.workerId,
    declaredSettings(unstored, state.options.tasks.configured),
  );
  if (!isStored) return;
  logLeftOut(state.events, leftOut);
  if (state.unstored === unstored) state.unstored = undefined;
}

const TRIES = 10;
const BETWEEN_TRIES_MS = 100;

/** Unregister the worker. If its row stays locked for a second, other workers later find it silent. */
export async function unregister(db: Queryable, workerId: number): Promise<void> {
  for (let tried = 0; tried < TRIES && !(await unregisterWorker(db, workerId)); tried++) {
    await sleep(BETWEEN_TRIES_MS);
  }
}
