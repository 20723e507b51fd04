import { type Outcome, outcomeOf } from '../../domain/outcome.ts';
import { Context, type HandlerLog } from '../attempt/context.ts';
import { runInline } from '../attempt/run-inline.ts';
import type { Handler } from '../handlers/load-handler.ts';
import type { HandlerProcesses, LoadedHandler } from '../isolation/handler-processes.ts';
import type { StartedTask } from '../lease/held-task.ts';
import type { Ledger } from '../lease/ledger.ts';
import { isSuspect } from '../lease/suspects.ts';

/** What an attempt needs around it. */
export interface AttemptHost {
  /** Mark a suspect as running in the database. False: it is not ours any more. */
  markRunning(held: StartedTask): Promise<boolean>;
  readonly processes: HandlerProcesses;
  readonly lines: HandlerLog;
  /** Its handler has ended: the attempt is to be concluded. */
  readonly onEnded: (held: StartedTask, outcome: Outcome) => void;
}

/** What a handler comes to that does not end before its process does. */
export const INTERRUPTED = outcomeOf({ kind: 'threw', thrown: new Error('the worker ended') });

/** Run an attempt: a suspect is marked first; then the handler runs, inline or apart; then it is concluded. */
export function runAttempt(held: StartedTask, handler: Handler, host: AttemptHost): void {
  const ended = isSuspect(held.task) ? markAndRun(held, handler, host) : run(held, handler, host);
  void ended.then((outcome) => host.onEnded(held, outcome));
}

/** Before it runs the database says so: what takes its worker down again is then to blame for it. */
async function markAndRun(held: StartedTask, handler: Handler, host: AttemptHost): Promise<Outcome> {
  const { attempt } = held;
  if (!(await host.markRunning(held))) attempt.abort('lost');
  return attempt.aborted === undefined ? run(held, handler, host) : INTERRUPTED;
}

function run(
  { attempt }: StartedTask,
  handler: Handler,
  { processes, lines }: AttemptHost,
): Promise<Outcome> {
  return attempt.isApart
    ? processes.run(attempt, handler as LoadedHandler)
    : runInline(attempt, handler, new Context(attempt, lines));
}

/** Conclude an attempt that ended so, and report it. Returns whether there is something to report. */
export function conclude(ledger: Ledger, held: StartedTask, outcome: Outcome, ranMs: number): boolean {
  const conclusion = held.attempt.conclude(outcome);
  switch (conclusion) {
    case 'lost':
      ledger.lost(held);
      return false;
    case 'given back':
      return ledger.release(held);
    default:
      return ledger.report(held, conclusion, ranMs);
  }
}
