import { type Outcome, outcomeOf } from '../../domain/outcome.ts';
import { Context, type ContextHost } from '../attempt/context.ts';
import type { PayloadCheck } from '../attempt/follow-up-list.ts';
import { runInline } from '../attempt/run-inline.ts';
import type { Handler } from '../handlers/load-handler.ts';
import type { HandlerProcesses, LoadedHandler } from '../isolation/handler-processes.ts';
import type { StartedTask } from '../lease/held-task.ts';
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

/** What became of a task at its conclusion; 'over': it was concluded before. */
export type Concluded = 'to report' | 'recorded' | 'lost' | 'waiting' | 'over';

/** Conclude an attempt whose handler ended with `outcome`. */
export function conclude(ledger: Ledger, held: StartedTask, outcome: Outcome, ranMs: number): Concluded {
  const conclusion = held.attempt.conclude(outcome);
  switch (conclusion) {
    case 'lost':
      ledger.lost(held);
      return 'lost';
    case 'given back':
      return ledger.release(held) ? 'to report' : 'over';
    case 'put back':
      return ledger.putBack(held) ? 'waiting' : 'over';
    default:
      if (conclusion === held.attempt.recorded) {
        ledger.recorded(held, conclusion, ranMs);
        return 'recorded';
      }
      return ledger.report(held, conclusion, ranMs) ? 'to report' : 'over';
  }
}
