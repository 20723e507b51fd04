import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerOptions } from './worker-options.ts';
import type { WorkerState } from './worker-state.ts';

/** A handler that was asked to end by the shutdown has so long to do it. */
const LAST_WORDS_MS = 500;
/** What is recorded last, once nothing runs any more, may take so long. */
const LAST_STATEMENTS_MS = 5000;
const LAST_STATEMENTS_HURRIED_MS = 1000;

/**
 * End what a worker has begun: nothing starts any more, what only waits is given back, what runs may end within the
 * grace (or until `hurry`), and what then still runs is asked to end and given back unburned. So is what the last claim
 * brings, which ends with `claiming`. The outcomes are recorded. What another transaction keeps locked until the end is
 * left to its lease, and named.
 */
export async function drain(
  state: WorkerState,
  { events, graceMs, hurry }: WorkerOptions,
  claiming: Promise<void>,
): Promise<void> {
  const { desk, held, settler, returner, shutdown } = state;
  desk.close();
  const { stopBy } = state.orders;
  const by = stopBy === null ? {} : { by: stopBy };
  events.event('worker.stopping', { running: desk.running, waiting: desk.waiting, ...by });
  const giveBackWaiting = () => state.giveBack('all').catch((error: unknown) => state.trouble(error));
  void giveBackWaiting();
  const claimed = claiming.then(giveBackWaiting);

  await until(() => desk.running === desk.abandoned, graceMs, hurry, state);
  desk.abortAll('shutdown');
  await until(() => desk.running === desk.abandoned, LAST_WORDS_MS, undefined, state);
  await claimed;

  // This process ends as soon as these are written.
  if (desk.abandoned > 0) shutdown.fail();
  desk.giveUp();
  const patienceMs = hurry.aborted ? LAST_STATEMENTS_HURRIED_MS : LAST_STATEMENTS_MS;
  const flushed = returner.flush(patienceMs).catch((error: unknown) => state.trouble(error));
  await until(() => settler.pending === 0, patienceMs, undefined, state);
  await flushed;
  if (held.size > 0) {
    events.event('outcome.busy', { task_ids: held.ids().slice(0, 20), tasks: held.size });
    shutdown.fail();
  }
}

/** Wait until it is so, for at most `ms` or until `hurry`. */
async function until(
  isSo: () => boolean,
  ms: number,
  hurry: AbortSignal | undefined,
  { roomBell }: WorkerState,
): Promise<void> {
  const end = performance.now() + ms;
  const never = new AbortController().signal;
  while (!isSo() && performance.now() < end && !hurry?.aborted) {
    await roomBell.wait(Math.min(end - performance.now(), 1000), hurry ?? never);
  }
  await sleep(0);
}
