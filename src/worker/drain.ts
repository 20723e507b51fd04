import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkerOptions } from './worker-options.ts';
import type { WorkerState } from './worker-state.ts';

/** How long a handler may take to end after the shutdown aborts it. */
const LAST_WORDS_MS = 500;
/** How long the last reports may take once no handler runs. */
const LAST_REPORTS_MS = 5000;
const LAST_REPORTS_HURRIED_MS = 1000;

/**
 * End everything the worker has begun.
 *
 * First, nothing more starts, and waiting tasks are given back, including those that the last claim (`claiming`) still
 * brings. Running tasks may end within the grace, or until `hurry`; the rest are aborted and given back without
 * counting an attempt. Then every task is reported. Tasks that another transaction keeps locked until the end, or all
 * while the connection to `db` is lost, are logged and left until their leases run out.
 */
export async function drain(
  state: WorkerState,
  { events, graceMs, hurry }: WorkerOptions,
  claiming: Promise<void>,
  db: { readonly isLost: boolean },
): Promise<void> {
  const { ledger, executor, reporter, shutdown } = state;
  const { stopBy } = state.orders;
  const by = stopBy === null ? {} : { by: stopBy };
  events.event('worker.stopping', {
    running: ledger.running,
    waiting: ledger.waiting,
    grace_ms: graceMs,
    ...by,
  });
  ledger.close();
  reporter.wake();

  await within(graceMs, ledger.untilNoneRuns(), hurry);
  executor.abortAll('shutdown');
  await within(LAST_WORDS_MS, ledger.untilNoneRuns());
  await claiming;

  // The process ends as soon as the last reports are written.
  if (ledger.abandoned > 0) shutdown.fail();
  executor.giveUp();
  await within(hurry.aborted ? LAST_REPORTS_HURRIED_MS : LAST_REPORTS_MS, ledger.untilEmpty());
  if (ledger.size > 0) {
    const ids = ledger.held().map(({ id }) => id);
    events.event(db.isLost || reporter.isStuck ? 'outcome.unrecorded' : 'outcome.busy', {
      task_ids: ids.slice(0, 20),
      tasks: ids.length,
    });
    shutdown.fail();
  }
}

/** Wait for `what`, for at most `ms` or until `hurry`. */
async function within(ms: number, what: Promise<void>, hurry?: AbortSignal): Promise<void> {
  const over = new AbortController();
  const signal = hurry === undefined ? over.signal : AbortSignal.any([over.signal, hurry]);
  await Promise.race([what, sleep(ms, undefined, { signal }).catch(() => {})]);
  over.abort();
}
