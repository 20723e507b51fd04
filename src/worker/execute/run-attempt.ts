import { type Outcome, outcomeOf } from '../../domain/outcome.ts';
import { Context, type ContextHost } from '../attempt/context.ts';
import type { PayloadCheck } from '../attempt/follow-up-list.ts';
import { runInline } from '../attempt/run-inline.ts';
import type { Handler } from '../handlers/load-handler.ts';
import type { HandlerProcesses, LoadedHandler } from '../isolation/handler-processes.ts';
import type { EndedTask, HeldTask, StartedTask } from '../lease/held-task.ts';
import type { Ledger } from '../lease/ledger.ts';
import { isSuspect } from '../lease/suspects.ts';

/** What running an attempt requires. */
export interface AttemptHost {
  /** Mark a suspect as running in the database. False: another worker has its lease. */
  markRunning(held: StartedTask): Promise<boolean>;
  readonly processes: HandlerProcesses;
  contextHostOf(held: StartedTask): ContextHost;
  /** Compares the payloads that handlers enqueue with the schemas of this worker's handlers. */
  readonly check: PayloadCheck;
  /** The handler has ended: conclude the attempt. */
  readonly onEnded: (held: StartedTask, outcome: Outcome) => void;
}

/** The outcome of a handler that does not end before its process does. */
export const INTERRUPTED = outcomeOf({ kind: 'threw', thrown: new Error('the worker ended') });

/** Run an attempt: mark a suspect first, run the handler inline or in a child process, then conclude the attempt. */
export function runAttempt(held: StartedTask, handler: Handler, host: AttemptHost): void {
  const ended = isSuspect(held.task) ? markAndRun(held, handler, host) : run(held, handler, host);
  void ended.then((outcome) => host.onEnded(held, outcome));
}

/** Mark it in the database before it runs: if the worker is lost again, this task caused it. */
async function markAndRun(held: StartedTask, handler: Handler, host: AttemptHost): Promise<Outcome> {
  const { attempt } = held;
  if (!(await host.markRunning(held))) attempt.abort('lost');
  return attempt.aborted === undefined ? run(held, handler, host) : INTERRUPTED;
}

function run(held: StartedTask, handler: Handler, host: AttemptHost): Promise<Outcome> {
  const { attempt } = held;
  const contextHost = host.contextHostOf(held);
  return attempt.isIsolated
    ? host.processes.run(attempt, handler as LoadedHandler, contextHost)
    : runInline(attempt, handler, new Context(attempt, contextHost, host.check));
}

/** A worker that acts on what its attempts conclude with. */
export interface ConcludingWorker {
  /** There is a new report; of this task, if it has just ended. */
  onReport(held?: StartedTask): void;
  /** Another worker has the lease of the task. */
  onLost(held: HeldTask): void;
  /** The handler's own transaction has recorded the task; `ended`: how the handler itself ended. */
  onRecorded(held: StartedTask & EndedTask, ended: Outcome): void;
}

/** Where a conclusion is entered, and the worker that acts on it. */
export interface Concluding {
  readonly ledger: Ledger;
  readonly worker: ConcludingWorker;
}

/** Conclude an attempt whose handler has ended. */
export function conclude(
  held: StartedTask,
  ended: Outcome,
  ranMs: number,
  { ledger, worker }: Concluding,
): void {
  const conclusion = held.attempt.conclude(ended);
  switch (conclusion.kind) {
    case 'recorded':
      if (ledger.recorded(held, conclusion.outcome, ranMs))
        worker.onRecorded(held as StartedTask & EndedTask, ended);
      break;
    case 'lost':
      if (ledger.lost(held)) worker.onLost(held);
      break;
    case 'given back':
      if (ledger.release(held)) worker.onReport(held);
      break;
    case 'put back':
      // A worker that claims no more gives it back at once.
      if (ledger.putBack(held) && ledger.reporting > 0) worker.onReport();
      break;
    default:
      if (ledger.report(held, conclusion, ranMs)) worker.onReport(held);
  }
}
