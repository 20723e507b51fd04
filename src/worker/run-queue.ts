import { type ClaimedTask, isSameLease, type Lease } from '../domain/task.ts';
import type { HeldTask } from './attempt.ts';
import { isLoaded } from './handler-processes.ts';
import type { Handler } from './load-handler.ts';
import type { Quarantine } from './quarantine.ts';
import { isGrave } from './suspects.ts';

export interface RunQueueOptions {
  readonly freeSlots: () => number;
  /** How many slots are held by handlers that do not end. */
  readonly abandoned: () => number;
  readonly handlerOf: (type: string) => Handler | undefined;
  readonly quarantine: Quarantine;
  /** Start a task, which has left the run queue: it takes a slot. */
  readonly start: (held: HeldTask) => void;
}

/** Which of the waiting tasks: all of them, those that have waited too long, or those that fit. */
export type WaitingSelection = 'all' | 'stale' | ((task: ClaimedTask) => boolean);

/**
 * So many start before the event loop comes round. Handlers that end at once would keep it until nothing waits any more,
 * and the next claim, which they make room for, would leave only then.
 */
const AT_A_TURN = 100;

/** A claimed-ahead task waits no longer than this for its start. */
const UNSTARTED_MS = 1000;

/** What this worker has claimed and has no slot for yet. The most urgent that may start does so when a slot is free. */
export class RunQueue {
  readonly #options: RunQueueOptions;
  /** Most urgent first. */
  #waiting: HeldTask[] = [];
  /** Since the event loop last came round. */
  #startedNow = 0;
  #isClosed = false;

  constructor(options: RunQueueOptions) {
    this.#options = options;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Take in what was claimed, and start what finds a slot. */
  add(claimed: readonly HeldTask[]): void {
    for (const held of claimed) this.#options.quarantine.enter(held);
    this.#waiting = [...this.#waiting, ...claimed].sort(byUrgency);
    this.fill();
  }

  /** Start what finds a slot. */
  fill(): void {
    if (this.#isClosed) return;
    const { freeSlots, start } = this.#options;
    for (let next = 0; next < this.#waiting.length && freeSlots() > 0 && this.#startedNow < AT_A_TURN; ) {
      const held = this.#waiting[next]!;
      if (this.#mayStart(held)) {
        if (next === 0) this.#waiting.shift();
        else this.#waiting.splice(next, 1);
        if (this.#startedNow === 0) setImmediate(this.#beginTurn);
        this.#startedNow += 1;
        start(held);
      } else {
        next += 1;
      }
    }
  }

  /** The event loop has come round. */
  readonly #beginTurn = (): void => {
    this.#startedNow = 0;
    this.fill();
  };

  /** Remove and return the task of a lease; undefined: it does not wait here. */
  remove(lease: Lease): HeldTask | undefined {
    const found = this.#waiting.find(({ task }) => isSameLease(task, lease));
    if (found === undefined) return undefined;
    this.#waiting = this.#waiting.filter((held) => held !== found);
    this.#options.quarantine.leave(found);
    return found;
  }

  /** Remove and return these. */
  takeBack(which: WaitingSelection): HeldTask[] {
    const { abandoned, quarantine } = this.#options;
    const limit = performance.now() - UNSTARTED_MS;
    const next = abandoned() === 0 ? this.#nextGrave() : undefined;
    const isStale = (held: HeldTask) => held.claimedAt < limit && held !== next;
    const isBack = (held: HeldTask) =>
      typeof which === 'function' ? which(held.task) : which === 'all' || isStale(held);
    const back = this.#waiting.filter(isBack);
    this.#waiting = this.#waiting.filter((held) => !isBack(held));
    for (const held of back) quarantine.leave(held);
    return back;
  }

  /** Start nothing any more. */
  close(): void {
    this.#isClosed = true;
  }

  #mayStart({ task }: HeldTask): boolean {
    const { handlerOf, quarantine } = this.#options;
    const handler = handlerOf(task.type);
    return handler !== undefined && quarantine.mayStart(task, isLoaded(handler));
  }

  /** The one that everything else here makes way for, until it can start. */
  #nextGrave(): HeldTask | undefined {
    return this.#options.quarantine.isGraveNext ? this.#waiting.find(({ task }) => isGrave(task)) : undefined;
  }
}

function byUrgency(a: HeldTask, b: HeldTask): number {
  return a.task.priority - b.task.priority || a.task.availableAtUs - b.task.availableAtUs;
}
