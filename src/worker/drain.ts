import { within } from '../lib/within.ts';
import type { HeldTask } from './lease/held-task.ts';
import type { EventLog } from './log/events.ts';
import type { WorkerState } from './worker-state.ts';

/** How long a handler may take to end after the shutdown aborts it. */
const AFTER_ABORT_MS = 500;
/** How long the last reports, and a claim in flight, may take once no handler runs. */
const LAST_REPORTS_MS = 5000;
const LAST_REPORTS_HURRIED_MS = 1000;

/**
 * End everything the worker has begun, within the grace and 5.5 s, whatever the database does.
 *
 * First, nothing more starts, and waiting tasks are given back, including those that a claim in flight still brings.
 * Running tasks may end within the grace, or until `hurry`; the rest are aborted and given back without counting an
 * attempt. Then every task is reported. A task whose report is not taken by the end is logged and left until its lease
 * runs out: its row is locked, the database refuses it, or does not answer.
 */
export async function drain(state: WorkerState, db: { readonly isLost: boolean }): Promise<void> {
  const { ledger, executor, reporter, shutdown, events } = state;
  const { graceMs } = state.options.times;
  const { hurry } = state.options.end;
  const { stopBy } = state.orders;
  const by = stopBy === null ? {} : { by: stopBy };
  events.event('worker.stopping', {
    running: ledger.running,
    waiting: ledger.waiting,
    grace_ms: graceMs,
    ...by,
  });
  ledger.close();
  reporter.expedite();

  await within(graceMs, ledger.untilNoneRuns(), { hurry });
  executor.abortAll('shutdown');
  await within(AFTER_ABORT_MS, ledger.untilNoneRuns());

  // The process ends as soon as the last reports are written.
  if (ledger.abandoned > 0) shutdown.fail();
  executor.giveUp();
  await within(LAST_REPORTS_MS, ledger.untilEmpty(), { hurry, hurriedMs: LAST_REPORTS_HURRIED_MS });
  const isUnanswered = db.isLost || reporter.isStuck || reporter.isSending;
  const left = ledger.held();
  const isLocked = ({ delivery }: HeldTask) => !isUnanswered && delivery?.isLocked === true;
  const locked = left.filter(isLocked);
  const unrecorded = left.filter((held) => !isLocked(held));
  logLeft(events, 'outcome.busy', locked);
  logLeft(events, 'outcome.unrecorded', unrecorded);
  if (ledger.reserved > 0) events.event('claim.unanswered');
  if (ledger.size > 0 || ledger.reserved > 0) shutdown.fail();
}

function logLeft(
  events: EventLog,
  event: 'outcome.busy' | 'outcome.unrecorded',
  tasks: readonly HeldTask[],
): void {
  if (tasks.length === 0) return;
  const ids = tasks.slice(0, 20).map(({ id }) => id);
  events.event(event, { task_ids: ids, tasks: tasks.length });
}
