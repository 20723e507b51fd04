import type { SettleAnswer } from '../../queue/protocol/settle.ts';
import type { EndedTask, HeldTask } from '../lease/held-task.ts';
import type { EventLog } from '../log/events.ts';
import { logOutcome } from './log-outcome.ts';
import { Tally } from './tally.ts';

/** Logs and counts how tasks leave a worker: each is settled, or given back, or its lease is lost. */
export class Departures {
  readonly tally = new Tally();
  readonly #events: EventLog;

  constructor(events: EventLog) {
    this.#events = events;
  }

  /** Its outcome has its answer. */
  settled(held: EndedTask, answer: SettleAnswer): void {
    this.tally.count(logOutcome(this.#events, held, answer));
  }

  /** It waits in the queue again. */
  givenBack({ task, attempt }: HeldTask): void {
    const { id, type } = task;
    this.#events.event('task.given_back', { task_id: id, type, started: attempt !== undefined });
    this.tally.count('given_back');
  }

  /** Its lease is somebody else's: nothing is recorded. */
  lost({ task: { id, type, attempts } }: HeldTask): void {
    this.#events.event('lease.lost', { task_id: id, type, attempt: attempts + 1 });
    this.tally.count('lost');
  }
}
