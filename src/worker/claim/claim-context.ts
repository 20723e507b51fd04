import type { ClaimedTask } from '../../domain/task.ts';
import { isUnanswered, type Queryable } from '../../lib/database.ts';
import type { SerialQueue } from '../../lib/serial-queue.ts';
import { Throttle } from '../../lib/throttle.ts';
import {
  type BreakerLimit,
  readClaimContext,
  type StoredContext,
} from '../../queue/protocol/claim-context.ts';
import { markIdle, unmarkIdle } from '../../queue/protocol/mark-idle.ts';
import type { ClaimingWorker } from './claiming-worker.ts';

export interface ClaimContextOptions {
  readonly worker: ClaimingWorker;
  /** For statements that may be slow or fail without meaning that the connection is lost. */
  readonly beside: Queryable;
  /** Runs statements beside the claims one at a time, so that they do not take all connections. */
  readonly serial: SerialQueue;
  /** A search beside the claims found new queues. */
  readonly onFound: () => void;
}

/** What a worker knows when it is about to sleep. */
export interface Idle {
  /** Milliseconds until the next task is due; null: none was found. */
  readonly dueMs: number | null;
  readonly mostMs: number;
  readonly queues: readonly string[];
}

/** What the statement that marks the worker as idle searches for. */
interface IdleSearches {
  /** The queues that have tasks. */
  readonly findsQueues: boolean;
  /** When the next task is due. */
  readonly findsDue: boolean;
}

/** Look up the queues at most this often. */
const READ_MS = 1000;
/** Take at most this many unknown queues from hints, which anyone may send. */
const MOST_HINTED = 100;

/** Finding the queues, or when the next task is due, takes at most a hundredth of the time. */
const PAUSE_FACTOR = 100;
/**
 * Caps the cost of the first search: after a cold one, a task in a new queue would wait ten seconds unless a hint names
 * it.
 */
const FIRST_LOOK_MS = 10;

/** Look again this soon when the next due time is unknown: finding it was slow, so looking again may be slow too. */
const DUE_UNKNOWN_MS = 250;

/** The queue of tasks whose producers name none; used when no queue is known. */
const USUAL_QUEUE = 'default';

/**
 * What is known about the queues: which have tasks, and which timeouts apply. Other statements find the queues as long
 * as that costs next to nothing. Otherwise a search runs beside the claims, which use the known queues until it ends.
 */
export class ClaimContext {
  readonly #options: ClaimContextOptions;
  readonly #worker: ClaimingWorker;
  #last:
    | { readonly at: number; readonly types: readonly string[]; readonly found: StoredContext }
    | undefined;
  #found: readonly string[] | undefined;
  /** Queues named by hints since the last search, and when: a search may miss what arrives while it runs. */
  readonly #hinted = new Map<string, number>();
  readonly #queueSearches = new Throttle(PAUSE_FACTOR, FIRST_LOOK_MS);
  readonly #dueSearches = new Throttle(PAUSE_FACTOR, FIRST_LOOK_MS);
  /** A search for queues runs beside the claims. */
  #isFinding = false;

  constructor(options: ClaimContextOptions) {
    this.#options = options;
    this.#worker = options.worker;
  }

  /** Find the queues to claim from; searches at most once a second. */
  async queuesNow(): Promise<readonly string[]> {
    const isDue = this.#servesAll && this.#queueSearches.isDue(performance.now(), READ_MS);
    if (isDue && this.#queueSearches.isCostly) this.#findBeside();
    else if (isDue) await this.#readWithQueues(this.#worker.db);
    while (!this.#isFresh) await this.#read();
    return this.#served;
  }

  /** The known queues; none if the types have changed since they were last read, with the timeouts. */
  queuesKnown(): readonly string[] {
    return this.#last?.types === this.#worker.types ? this.#served : [];
  }

  /**
   * Mark the worker as idle for at most `ms`, and return what it needs for its last claim, and how long it may sleep
   * after that, at most: a task may be due that the search left out.
   */
  async enterIdle(ms: number): Promise<Idle> {
    const now = performance.now();
    const { isCostly } = this.#queueSearches;
    const findsQueues = this.#servesAll && !isCostly && this.#queueSearches.isDue(now);
    const findsDue = !this.#dueSearches.isCostly || this.#dueSearches.isDue(now);
    if (this.#servesAll && isCostly && this.#queueSearches.isDue(now, READ_MS)) this.#findBeside();
    const due = await this.#mark(ms, { findsQueues, findsDue });
    while (!this.#isFresh) await this.#read();
    return { ...due, queues: this.#served };
  }

  /** Mark the worker as no longer idle. */
  leaveIdle(): Promise<void> {
    return unmarkIdle(this.#worker.db, this.#worker.workerId);
  }

  /** A hint reports a task in this queue. */
  add(queue: string): void {
    if (this.#hinted.has(queue) || this.#hinted.size < MOST_HINTED)
      this.#hinted.set(queue, performance.now());
  }

  /** The time limit of an attempt of this task, in milliseconds; null: unlimited. */
  timeoutOf({ timeoutMs, type, queue }: ClaimedTask): number | null {
    const found = this.#last?.found;
    return timeoutMs ?? found?.typeTimeouts[type] ?? found?.queueTimeouts[queue] ?? found?.timeoutMs ?? null;
  }

  /** Whether the log of a task that completes is kept. */
  keepsLogOf(type: string): boolean {
    return this.#last?.found.alwaysLogged.includes(type) ?? false;
  }

  /** When the breaker of a type opens; undefined: it has none, or none is known yet. */
  breakerOf(type: string): BreakerLimit | undefined {
    return this.#last?.found.breakers[type];
  }

  /** Whether a group of this queue stops at a dead letter. */
  stopsAtDead(queue: string): boolean {
    return this.#last?.found.holdingQueues.includes(queue) ?? false;
  }

  get #servesAll(): boolean {
    return this.#worker.queues === null;
  }

  get #served(): readonly string[] {
    return this.#worker.queues ?? [...new Set([...(this.#found ?? [USUAL_QUEUE]), ...this.#hinted.keys()])];
  }

  get #isFresh(): boolean {
    return this.#last?.types === this.#worker.types && performance.now() - this.#last.at <= READ_MS;
  }

  /** Use what was asked for at `askedAt`. */
  #take(found: StoredContext, types: readonly string[], askedAt: number): void {
    this.#last = { at: performance.now(), types, found };
    if (found.queues === null) return;
    this.#found = found.queues;
    for (const [queue, at] of this.#hinted) if (at < askedAt) this.#hinted.delete(queue);
  }

  async #read(): Promise<void> {
    const types = this.#worker.types;
    const began = performance.now();
    this.#take(await readClaimContext(this.#worker.db, types, { queues: false }), types, began);
  }

  async #readWithQueues(db: Queryable): Promise<void> {
    const types = this.#worker.types;
    const began = performance.now();
    try {
      this.#take(await this.#queueSearches.run(() => readClaimContext(db, types)), types, began);
    } catch (error) {
      if (db === this.#worker.db && isUnanswered(error)) throw error;
      this.#worker.onStatementFailed(error);
    }
  }

  #findBeside(): void {
    if (this.#isFinding) return;
    this.#isFinding = true;
    const before = new Set(this.#served);
    const { serial, beside } = this.#options;
    void serial
      .run(() => this.#readWithQueues(beside))
      .finally(() => {
        this.#isFinding = false;
        if (this.#served.some((queue) => !before.has(queue))) this.#options.onFound();
      });
  }

  async #mark(ms: number, searches: IdleSearches): Promise<Omit<Idle, 'queues'>> {
    const { findsQueues, findsDue } = searches;
    const { db, workerId, types, queues } = this.#worker;
    const worker = { workerId, queues, types };
    const known = this.#served;
    const began = performance.now();
    try {
      const idle = { ...worker, ...(!findsQueues && { known }), ...(!findsDue && { due: false as const }) };
      const { dueMs, context: found, upcoming } = await markIdle(db, idle, ms);
      this.#worker.onUpcoming(upcoming);
      const now = performance.now();
      // If only one of the two is done next time, its time shows which of them is slow.
      if (findsQueues) this.#queueSearches.done(now - began, now);
      else if (findsDue) this.#dueSearches.done(now - began, now);
      this.#take(found, types, began);
      return { dueMs, mostMs: findsDue ? Infinity : DUE_UNKNOWN_MS };
    } catch (error) {
      const now = performance.now();
      if (findsQueues) this.#queueSearches.failed(now - began, now);
      if (findsDue) this.#dueSearches.failed(now - began, now);
      if (isUnanswered(error) || !(findsQueues || findsDue)) throw error;
      this.#worker.onStatementFailed(error);
      return this.#mark(ms, { findsQueues: false, findsDue: false });
    }
  }
}
