import { once } from 'node:events';
import { type Database, type DatabaseOptions, openDatabase, type Queryable } from '../lib/database.ts';
import { TaskqError } from '../lib/errors.ts';
import { within } from '../lib/within.ts';
import { checkRunFunction } from '../queue/protocol/run-function.ts';
import { checkSchema } from '../queue/schema/check-schema.ts';
import { catchUncaughtErrors } from './attempt/uncaught-errors.ts';
import { claimUntilStopped } from './claiming.ts';
import { ConnectionState } from './connection-state.ts';
import { drain } from './drain.ts';
import { prepareHandlers } from './handlers/prepare-handlers.ts';
import { type HeartbeatSettings, startHeartbeats } from './heartbeat/heartbeats.ts';
import { statementDeadlineMs } from './lease/lease-length.ts';
import type { FirstRegistered } from './lease/registered-worker.ts';
import { startLoops } from './loops.ts';
import { onHeartbeatMessage } from './on-heartbeat-message.ts';
import { logDifferences, logLeftOut, registerAtFirst, unregister } from './registration.ts';
import { watchExit } from './supervise/watch-exit.ts';
import { showCurrentLease } from './watchdog/show-current-lease.ts';
import type { WorkerEnd, WorkerOptions } from './worker-options.ts';
import { WorkerState } from './worker-state.ts';

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
  const { events, onStopped } = options.process;
  const pool = openPool(options, 4);
  const ordered = openPool(options, 'pipeline');
  /**
   * Undo what the worker has started, even if it fails: otherwise heartbeats would renew leases of tasks that no longer
   * run.
   */
  const endings: (() => unknown)[] = [];
  try {
    const { release, registered } = await unlessStopped(options.end.stop, register(pool, options));
    const { workerId } = registered;
    const db = new ConnectionState({
      db: pool,
      databaseUrl: options.connection.databaseUrl,
      events,
      silenceMs: () => 2 * state.lease.heartbeatMs,
      onRestored: () => {
        state.refresh();
        state.schemaChanged.trigger();
      },
    });
    const pipeline = {
      ...db.over(ordered),
      get canBeFollowed() {
        return ordered.isDirect;
      },
    };
    const state = new WorkerState({ db, pipeline, beside: pool }, registered, options);
    state.cursor.startAt(registered.cursors, performance.now());
    if (registered.typesLeft) state.unstored = options.tasks.handlers;
    const { ledger, ends } = state;
    const { stop, ended } = state.shutdown;
    endings.push(() => {
      state.shutdown.finish();
      ended.abort();
    });

    const heartbeats = startHeartbeats(
      heartbeatSettings(options, workerId),
      state.table,
      (message) => onHeartbeatMessage(message, state, db, heartbeats),
      (why) => state.shutdown.retire(`its heartbeats have ended: ${why}`),
    );
    endings.push(() => heartbeats.stop());
    endings.push(() => within(CLOSE_MS, state.transactions.close()));
    showCurrentLease((attempt) => ledger.started().find((held) => held.attempt === attempt));
    if (options.process.kind === 'own') endings.push(...watchProcess(state, options.end.hurry));
    announce(state, registered);

    const loops = startLoops(state, { pool, db, heartbeats, release });
    const claiming = claimUntilStopped(state);
    await Promise.race([claiming, once(stop, 'abort')]);
    // Do not announce a drain that is over at once.
    if (ledger.running > 0) heartbeats.sendDraining();
    await drain(state, db);
    ended.abort();
    await within(LAST_STATEMENTS_MS, Promise.all([claiming, ...loops, heartbeats.stop()]));
    state.logProgress();
    // Stay registered while tasks remain: rescue scans only silent workers.
    if (!db.isLost && ledger.holdsNothing) {
      const unregistering = unregister(pool, workerId);
      await within(
        UNREGISTER_MS,
        unregistering.catch((error) => state.onStatementFailed(error)),
      );
    }
    events.event('worker.stopped', { worker_id: workerId, ...ends.counts.total, left: state.left });
    onStopped?.();
    return state.end();
  } finally {
    await Promise.all(endings.map((end) => end()));
    await Promise.all([pool.close(CLOSE_MS), ordered.close(CLOSE_MS)]);
  }
}

function openPool(
  { connection, times }: WorkerOptions,
  maxConnections: DatabaseOptions['maxConnections'],
): Database {
  return openDatabase({
    databaseUrl: connection.databaseUrl,
    synchronousCommit: connection.synchronousCommit,
    access: 'write',
    maxConnections,
    applicationName: 'taskq worker',
    deadlineMs: statementDeadlineMs(times.leaseMs),
  });
}

/** Wait for the database's answers to a worker that starts, not forever once it is stopped. */
async function unlessStopped<T>(stop: AbortSignal, started: Promise<T>): Promise<T> {
  if (await within(Infinity, started, { hurry: stop, hurriedMs: START_STOPPED_MS })) return started;
  throw new TaskqError('connection_failed', 'the worker was stopped before the database answered');
}

async function register(
  db: Queryable,
  options: WorkerOptions,
): Promise<{ readonly release: number; readonly registered: FirstRegistered }> {
  const release = await checkSchema(db);
  await prepareHandlers(options.tasks.handlers, { checkFunctions: () => checkRunFunction(db) });
  const registered = await registerAtFirst(db, options);
  return { release, registered };
}

function heartbeatSettings(options: WorkerOptions, workerId: number): HeartbeatSettings {
  const { databaseUrl, directUrl, synchronousCommit } = options.connection;
  const { leaseMs, heartbeatMs, graceMs } = options.times;
  return {
    databaseUrl: directUrl ?? databaseUrl,
    synchronousCommit,
    workerId,
    leaseMs,
    heartbeatMs,
    graceMs,
    process: options.process.kind,
    logDescriptor: 1,
  };
}

/** Install process-wide handlers, if the process belongs to the worker. Returns the functions that remove them. */
function watchProcess(state: WorkerState, hurry: AbortSignal): (() => void)[] {
  const { workerId, ledger } = state;
  return [
    catchUncaughtErrors((attempt, thrown) => state.onUncaughtError(attempt, thrown)),
    watchExit({ workerId, running: () => ledger.started().map(({ id }) => id), hurry }),
  ];
}

function announce(state: WorkerState, { differing, leftOut }: FirstRegistered): void {
  const { workerId, types, options, events } = state;
  const { queues, concurrency, paused } = options.claims;
  events.event('worker.started', {
    worker_id: workerId,
    types,
    queues: queues ?? 'all',
    concurrency,
    paused,
  });
  logDifferences(events, differing);
  logLeftOut(events, leftOut);
  options.process.onStarted?.();
}
