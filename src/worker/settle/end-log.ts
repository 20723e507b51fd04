import type { Completed, Outcome } from '../../domain/outcome.ts';
import type { GiveBackAnswer } from '../../queue/protocol/give-back.ts';
import type { SettleAnswer } from '../../queue/protocol/settle.ts';
import type { EndedTask, HeldTask } from '../lease/held-task.ts';
import type { EventLog } from '../log/events.ts';
import { OnceAMinute } from '../log/once-a-minute.ts';
import { EndCounts } from './end-counts.ts';
import { logGivenBack, logOutcome } from './log-outcome.ts';

/** Logs and counts how tasks leave a worker: settled, given back, or with a lost lease. */
export class EndLog {
  readonly counts = new EndCounts();
  readonly #events: EventLog;
  /** By type. */
  readonly #notStored = new OnceAMinute();
  readonly #notCounted = new OnceAMinute();

  constructor(events: EventLog) {
    this.#events = events;
  }

  /** The database has answered its outcome. */
  settled(held: EndedTask, { answer, consequence }: SettleAnswer): void {
    if (answer === 'lost') this.lost(held, held.ranMs);
    else this.counts.count(logOutcome(this.#events, this.#notStored, held, consequence));
  }

  /**
   * A handler whose transaction had completed the task has ended in another way, which changes nothing. Logged once a
   * minute at most for its type.
   */
  endedAfter({ task: { id, type, attempts }, outcome }: EndedTask, ended: Outcome): void {
    const isExpected =
      ended.kind === 'completed' && (ended.result === null || isSameResult(ended, outcome as Completed));
    if (isExpected || !this.#notCounted.pass(type)) return;
    const error = 'error' in ended && ended.error !== null ? { error: ended.error } : {};
    const reason = ended.kind === 'completed' ? 'it returned another result' : ended.kind;
    this.#events.event('outcome.ignored', { task_id: id, type, attempt: attempts + 1, reason, ...error });
  }

  /** It waits in the queue again, unless it has ended by that or was no longer held. */
  givenBack(held: HeldTask, answer: GiveBackAnswer): void {
    if (answer.answer === 'lost') this.lost(held);
    else this.counts.count(logGivenBack(this.#events, held, answer));
  }

  /** Another worker has its lease: nothing is recorded. */
  lost({ task: { id, type, queue, attempts } }: HeldTask, ranMs: number | null = null): void {
    const ran_ms = ranMs === null ? null : Math.round(ranMs);
    this.#events.event('lease.lost', { task_id: id, type, queue, attempt: attempts + 1, ran_ms });
    this.counts.count('lost');
  }
}

function isSameResult({ result, again }: Completed, recorded: Completed): boolean {
  return result === recorded.result && JSON.stringify(again) === JSON.stringify(recorded.again);
}
