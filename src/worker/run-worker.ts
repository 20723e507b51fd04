import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { openDatabase, type Queryable } from '../lib/database.ts';
import { TaskqError } from '../lib/errors.ts';
import { every } from '../lib/every.ts';
import { packageVersion } from '../lib/package-root.ts';
import { within } from '../lib/within.ts';
import { type Registered, registerWorker } from '../queue/protocol/register-worker.ts';
import { checkSchema } from '../queue/schema/check-schema.ts';
import { applyOrders } from './apply-orders.ts';
import { catchUncaughtErrors } from './attempt/uncaught-errors.ts';
import { claimUntilStopped } from './claiming.ts';
import { ConnectionState } from './connection-state.ts';
import { drain } from './drain.ts';
import type { FromHeartbeat } from './heartbeat/heartbeat-messages.ts';
import { type Heartbeats, startHeartbeats } from './heartbeat/heartbeats.ts';
import { showCurrentLease } from './isolation/show-current-lease.ts';
import { Housekeeper } from './maintain/housekeeper.ts';
import { Rescuer } from './maintain/rescuer.ts';
import { Vacuumer } from './maintain/vacuumer.ts';
import { declaredSettings, logDifferences, storeTypes, unregister } from './registration.ts';
import { reload } from './reload.ts';
import { watchExit } from './supervise/watch-exit.ts';
import { watchRelease } from './watch-release.ts';
import type { WorkerEnd, WorkerOptions } from './worker-options.ts';
import { WorkerState } from './worker-state.ts';

/** How often to look for claimed-ahead tasks that found no slot. */
const STALE_MS = 500;
const HOUSEKEEPING_MS = 60_000;
/** How often to retry storing types that others have locked. */
const TYPES_MS = 1000;
const VACUUM_MS = 250;
const PROGRESS_MS = 10_000;
/** How often to check the handlers' files; a change is loaded at the second check that finds it unchanged. */
const LOOK_MS = 250;
/** How long each step may take when the worker ends, in milliseconds; with those of `drain` less than ten seconds. */
const LAST_STATEMENTS_MS = 2000;
const UNREGISTER_MS = 1000;
const CLOSE_MS = 500;
/** How long a worker that is stopped while it starts waits for the database. */
const START_STOPPED_MS = 5000;

/**
 * Run a worker in this process until `stop`, or until it ends by itself (`untilIdle`, `maxTasks`, or it retires).
 *
 * Resolves when none of its tasks runs and each task it held is recorded, given back, or (exit code 1) left until its
 * lease runs out. Throws before it starts if the database cannot be reached or the schema does not fit; ends
 * with exit code 3 if a newer schema no longer serves its release. After `stop` it takes at most the grace and ten
 * seconds, whatever the database does.
 */
export async function runWorker(options: WorkerOptions): Promise<WorkerEnd> {
  const { events, leaseMs, heartbeatMs, graceMs, watched, synchronousCommit } = options;
  const pool = openDatabase({
    databaseUrl: options.databaseUrl,
    synchronousCommit,
    access: 'write',
    maxConnections: 3,
    applicationName: 'taskq worker',
    deadlineMs: Math.min(30_000, Math.max(5000, leaseMs)),
  });
  /** Ends what the worker has started, also where it fails: nothing may renew leases of tasks that it does not run. */
  const endings: (() => unknown)[] = [];
  try {
    const { release, registered } = await unlessStopped(options.stop, register(pool, options));
    const { workerId } = registered;
    const db = new ConnectionState({
      db: pool,
      databaseUrl: options.databaseUrl,
      events,
      silenceMs: () => 2 * state.lease.heartbeatMs,
      onRestored: () => {
        state.refresh();
        state.schemaChanged.trigger();
      },
    });
    const state = new WorkerState(db, pool, workerId, options);
    state.cursor.startAt(registered.cursors, performance.now());
    if (registered.typesLeft) state.unstored = options.handlers;
    const { stop, ended } = state.shutdown;
    endings.push(() => {
      state.shutdown.finish();
      ended.abort();
    });

    const heartbeats = startHeartbeats(
      {
        databaseUrl: options.directUrl ?? options.databaseUrl,
        synchronousCommit,
        workerId,
        leaseMs,
        heartbeatMs,
        graceMs,
        process: options.process,
        logDescriptor: 1,
      },
      state.table,
      (message) => onMessage(message, state, db, heartbeats),
      (why) => state.shutdown.retire(`its heartbeats have ended: ${why}`),
    );
    endings.push(() => heartbeats.stop());
    showCurrentLease((attempt) => state.ledger.started().find((held) => held.attempt === attempt));
    if (options.process === 'own')
      endings.push(
        catchUncaughtErrors((attempt, thrown) => state.onUncaughtError(attempt, thrown)),
        watchExit({
          workerId,
          running: () => state.ledger.started().map(({ id }) => id),
          hurry: options.hurry,
        }),
      );
    events.event('worker.started', {
      worker_id: workerId,
      types: state.types,
      queues: options.queues ?? 'all',
      concurrency: options.concurrency,
      paused: options.paused,
    });
    logDifferences(events, registered.differing);
    options.onStarted?.();

    const onError = (error: unknown) => state.onStatementFailed(error);
    const housekeeper = new Housekeeper({ db, events, stop });
    const { ledger, ends } = state;
    const vacuumer = new Vacuumer({ db: pool, events, ended: () => ends.counts.ended });
    const loops = [
      state.reporter.run(ended.signal),
      every(async () => state.executor.releaseStale(), { everyMs: STALE_MS, signal: ended.signal, onError }),
      new Rescuer(db, state, events).run(ended.signal),
      watchRelease(db, release, state),
      every(() => storeTypes(db, state), { everyMs: TYPES_MS, signal: stop, onError }),
      every(() => housekeeper.look(), { everyMs: HOUSEKEEPING_MS, signal: stop, onError }),
      every(() => vacuumer.look(), { everyMs: VACUUM_MS, signal: stop, onError }),
      every(async () => state.logProgress(), { everyMs: PROGRESS_MS, signal: ended.signal, onError }),
      every(async () => heartbeats.sendCursors(state.cursor.snapshot()), {
        everyMs: heartbeatMs,
        signal: stop,
        onError,
      }),
      ...(watched === undefined
        ? []
        : [every(() => reload(watched, db, state, heartbeats), { everyMs: LOOK_MS, signal: stop, onError })]),
    ];
    const claiming = claimUntilStopped(state);
    await Promise.race([claiming, once(stop, 'abort')]);
    // A drain that is over at once needs no announcement.
    if (ledger.running > 0) heartbeats.sendDraining();
    await drain(state, options, db);
    ended.abort();
    await within(LAST_STATEMENTS_MS, Promise.all([claiming, ...loops, heartbeats.stop()]));
    state.logProgress();
    // Stay registered while tasks remain: rescue scans only silent workers.
    if (!db.isLost && ledger.holdsNothing)
      await within(UNREGISTER_MS, unregister(pool, workerId).catch(onError));
    events.event('worker.stopped', { worker_id: workerId, ...ends.counts.total, left: state.left });
    options.onStopped?.();
    return state.end();
  } finally {
    await Promise.all(endings.map((end) => end()));
    await pool.close(CLOSE_MS);
  }
}

/** Wait for the database's answers to a worker that starts, not for ever once it is stopped. */
async function unlessStopped<T>(stop: AbortSignal, started: Promise<T>): Promise<T> {
  if (await within(Infinity, started, { hurry: stop, hurriedMs: START_STOPPED_MS })) return started;
  throw new TaskqError('connection_failed', 'the worker was stopped before the database answered');
}

async function register(
  db: Queryable,
  options: WorkerOptions,
): Promise<{ readonly release: number; readonly registered: Registered }> {
  const release = await checkSchema(db);
  const registered = await registerWorker(db, {
    name: options.name,
    uniquePart: randomBytes(4).toString('hex'),
    version: packageVersion(),
    concurrency: options.concurrency,
    leaseMs: options.leaseMs,
    pollMs: options.pollMs,
    batch: options.batch,
    ...declaredSettings(options.handlers, options.configured),
    queues: options.queues,
    paused: options.paused,
  });
  return { release, registered };
}

function onMessage(
  message: FromHeartbeat,
  state: WorkerState,
  db: ConnectionState,
  heartbeats: Heartbeats,
): void {
  switch (message.kind) {
    case 'lost':
      state.executor.lose(message.lease);
      break;
    case 'cancel':
      state.executor.cancel(message.lease, message.reason);
      break;
    case 'unrenewed':
      state.onRefusedRenewal(message.lease, message.refusal);
      break;
    case 'orders':
      applyOrders(state, message.orders);
      break;
    case 'lease':
      void state.lease
        .change(message.leaseMs, message.heartbeatMs)
        .then(() => heartbeats.leaseSwitched(message.leaseMs));
      break;
    case 'leaseSettled':
      state.options.events.event('lease.changed', { lease_ms: message.leaseMs });
      break;
    case 'wake':
      state.wake(message.queue, message.fromUs);
      break;
    case 'connected':
      state.heartbeat.connected(message.listening);
      state.workArrived.trigger(); // hints that came before have not arrived here
      state.slotFreed.trigger();
      break;
    case 'disconnected':
      state.heartbeat.disconnected();
      db.failed('heartbeats', message.why);
      break;
    case 'answered':
      state.heartbeat.answered();
      db.answered('heartbeats', performance.now());
      break;
    case 'refused':
      db.refused();
      state.options.events.event('statement.failed', { error: { message: message.why } });
      state.schemaChanged.trigger();
      break;
    default:
      message satisfies never;
  }
}
