import type { Database } from '../lib/database.ts';
import { every } from '../lib/every.ts';
import type { ConnectionState } from './connection-state.ts';
import type { Heartbeats } from './heartbeat/heartbeats.ts';
import { Housekeeper } from './maintain/housekeeper.ts';
import { Rescuer } from './maintain/rescuer.ts';
import { SAMPLE_MS, sample } from './maintain/sampler.ts';
import { Vacuumer } from './maintain/vacuumer.ts';
import { watchRelease } from './maintain/watch-release.ts';
import { registerAgain, storeTypes } from './registration.ts';
import { reload } from './reload.ts';
import { addSchedules } from './schedule/add-schedules.ts';
import type { WorkerState } from './worker-state.ts';

/** How often to look for claimed-ahead tasks that found no slot. */
const STALE_MS = 500;
const HOUSEKEEPING_MS = 60_000;
/** How often to retry storing types that others have locked. */
const TYPES_MS = 1000;
/** How often to look whether the worker's row is gone. */
const REGISTER_MS = 1000;
const VACUUM_MS = 250;
const PROGRESS_MS = 10_000;
/** How often to check the handlers' files; a change is loaded at the second check that finds it unchanged. */
const LOOK_MS = 250;

/** What the loops of a worker need besides its state. */
export interface LoopNeeds {
  readonly pool: Database;
  readonly db: ConnectionState;
  readonly heartbeats: Heartbeats;
  /** The release of the schema when the worker registered. */
  readonly release: number;
}

/**
 * Starts a worker's loops other than claiming: those that its last tasks need run until `ended`, the others until
 * `stop`. Each resolves once its signal has aborted and its last round is over.
 */
export function startLoops(
  state: WorkerState,
  { pool, db, heartbeats, release }: LoopNeeds,
): Promise<unknown>[] {
  const { events, shutdown, options } = state;
  const { stop, ended } = shutdown;
  const { heartbeatMs } = options.times;
  const { watched, schedules = [] } = options.tasks;
  const onError = state.onStatementFailed;
  const housekeeper = new Housekeeper({ db, events, stop });
  const vacuumer = new Vacuumer({ db: pool, events, ended: () => state.ends.counts.ended });
  const untilStopped = (everyMs: number, work: () => Promise<unknown>) =>
    every(work, { everyMs, signal: stop, onError });
  const untilEnded = (everyMs: number, work: () => Promise<unknown>) =>
    every(work, { everyMs, signal: ended.signal, onError });
  return [
    state.reporter.run(ended.signal),
    new Rescuer(db, state, events).run(ended.signal),
    addSchedules(schedules, { db: pool, events, stop, onStatementFailed: onError }),
    state.scheduler.run(stop),
    state.advancer.run(stop),
    watchRelease(release, {
      ...{ db, stop, schemaChanged: state.schemaChanged },
      onOutdated: (why) => shutdown.outdated(why),
      // Not onError, which would have the schema checked again at once.
      onError: (error) => state.logFailedStatement(error),
    }),
    untilEnded(STALE_MS, async () => state.executor.releaseStale()),
    untilEnded(PROGRESS_MS, async () => state.logProgress()),
    untilEnded(REGISTER_MS, () => registerAgain(db, state)),
    untilStopped(TYPES_MS, () => storeTypes(db, state)),
    untilStopped(HOUSEKEEPING_MS, () => housekeeper.look()),
    untilStopped(VACUUM_MS, () => vacuumer.look()),
    untilStopped(SAMPLE_MS, () => sample({ db: pool, stop })),
    untilStopped(heartbeatMs, async () => heartbeats.sendCursors(state.cursor.snapshot())),
    untilEnded(heartbeatMs, async () => heartbeats.sendLost(state.ends.counts.total.lost)),
    ...(watched === undefined ? [] : [untilStopped(LOOK_MS, () => reload(watched, db, state, heartbeats))]),
  ];
}
