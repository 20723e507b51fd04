import type { Bell } from '../lib/bell.ts';
import type { SettleAnswer, Settlement } from '../queue/settle.ts';
import type { HeldTask } from './attempt.ts';
import { MOST_AHEAD, MOST_SLOTS } from './claim-room.ts';
import type { EventLog } from './events.ts';
import { LeaseTable } from './lease-table.ts';
import { Tally } from './tally.ts';
import { tellOutcome } from './tell-outcome.ts';

export interface HeldTasksOptions {
  readonly events: EventLog;
  /** Rung when one has left. */
  readonly room: Bell;
}

/**
 * Everything a worker holds, from its claim to the answer to its outcome. A task leaves in one of three ways, each of
 * which is logged and counted: it is settled, it is given back, or its lease is lost.
 */
export class HeldTasks {
  /** Their leases: entered with the claim, by the desk. */
  readonly table = new LeaseTable(MOST_SLOTS + 4 * MOST_AHEAD);
  /** How they have left. */
  readonly tally = new Tally();
  readonly #options: HeldTasksOptions;
  readonly #held = new Set<HeldTask>();

  constructor(options: HeldTasksOptions) {
    this.#options = options;
  }

  /** How many tasks have no answer yet. */
  get size(): number {
    return this.#held.size;
  }

  /** The ids of all of them. */
  ids(): string[] {
    return [...this.#held].map(({ task }) => task.id);
  }

  has(held: HeldTask): boolean {
    return this.#held.has(held);
  }

  add(claimed: readonly HeldTask[]): void {
    for (const held of claimed) this.#held.add(held);
  }

  /** Its outcome has its answer. */
  settled(held: HeldTask, settlement: Settlement, answer: SettleAnswer): void {
    this.tally.count(tellOutcome(this.#options.events, held.task, settlement, answer));
    this.#leave(held);
  }

  /** It waits in the queue again. */
  givenBack(held: HeldTask, started: boolean): void {
    const { id, type } = held.task;
    this.#options.events.event('task.given_back', { task_id: id, type, started });
    this.tally.count('given_back');
    this.#leave(held);
  }

  /** Its lease is somebody else's: nothing is recorded. */
  lost(held: HeldTask): void {
    const { id, type, attempts } = held.task;
    this.#options.events.event('lease.lost', { task_id: id, type, attempt: attempts + 1 });
    this.tally.count('lost');
    this.#leave(held);
  }

  #leave(held: HeldTask): void {
    this.#held.delete(held);
    this.table.leave(held.slot);
    this.#options.room.ring();
  }
}
