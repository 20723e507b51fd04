import type { SettleAnswer } from '../../queue/protocol/settle.ts';
import type { EndedTask, HeldTask } from '../lease/held-task.ts';
import type { EventLog } from '../log/events.ts';
import { OnceAMinute } from '../log/once-a-minute.ts';
import { EndCounts } from './end-counts.ts';
import { logOutcome } from './log-outcome.ts';

/** Logs and counts how tasks leave a worker: settled, given back, or with a lost lease. */
export class EndLog {
  readonly counts = new EndCounts();
  readonly #events: EventLog;
  /** By type. */
  readonly #notStored = new OnceAMinute();

  constructor(events: EventLog) {
    this.#events = events;
  }

  /** The database has answered its outcome. */
  settled(held: EndedTask, answer: SettleAnswer): void {
    this.counts.count(logOutcome(this.#events, this.#notStored, held, answer));
  }

  /** The task waits in the queue again. */
  givenBack({ task, attempt }: HeldTask): void {
    const { id, type } = task;
    this.#events.event('task.given_back', { task_id: id, type, started: attempt !== undefined });
    this.counts.count('given_back');
  }

  /** Another worker has its lease: nothing is recorded. */
  lost({ task: { id, type, attempts } }: HeldTask): void {
    this.#events.event('lease.lost', { task_id: id, type, attempt: attempts + 1 });
    this.counts.count('lost');
  }
}
