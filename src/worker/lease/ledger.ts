import type { Outcome } from '../../domain/outcome.ts';
import { type ClaimedTask, isSameLease } from '../../domain/task.ts';
import type { Attempt } from '../attempt/attempt.ts';
import type { Delivery, HeldState, HeldTask, StartedTask } from './held-task.ts';
import type { HeldLease, LeaseTable } from './lease-table.ts';
import { isLastChance, isSuspect, type SuspectCounts } from './suspects.ts';

/** A claim in flight, which may bring up to `size` tasks. */
export interface Reservation {
  readonly size: number;
  /** Since it was sent, what may run here has changed: check the tasks it brings. */
  readonly isOutdated: boolean;
}

/** A claim whose answer was lost: it may have leased tasks to us that we do not know of. */
export interface LostClaim {
  /** When their leases have run out (`performance.now()`), so that a scan finds them. */
  readonly overAt: number;
}

/**
 * All tasks a worker holds, and the state of each. Nothing else writes these or the lease table.
 *
 * It reads no clock and calls nothing: each step is given what happened, and returns whether it counts. A step that
 * comes too late, for a task that has moved on meanwhile, changes nothing and returns false.
 */
export class Ledger implements SuspectCounts {
  readonly #table: LeaseTable;
  /** All held tasks, by slot. */
  readonly #bySlot: (Entry | undefined)[] = [];
  readonly #claims = new Set<OpenReservation>();
  /** Most urgent first. */
  #waiting: Entry[] = [];
  /** Tasks at `reporting` whose report is not being sent now. */
  #reports: Entry[] = [];
  readonly #counts = { reserved: 0, running: 0, reporting: 0, abandoned: 0, sentAlone: 0 };
  readonly #suspects = {
    lastChances: 0,
    runningLastChances: 0,
    runningInline: 0,
    running: 0,
    runningInlineSuspects: 0,
  };
  #lostClaim: LostClaim | undefined;
  #isClosed = false;
  #waiters: Waiter[] = [];

  constructor(table: LeaseTable) {
    this.#table = table;
  }

  /** How many tasks the claims in flight may bring. */
  get reserved(): number {
    return this.#counts.reserved;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** How many tasks run, including abandoned ones. */
  get running(): number {
    return this.#counts.running;
  }

  get reporting(): number {
    return this.#counts.reporting;
  }

  /** How many running tasks have handlers that ignore their abort. */
  get abandoned(): number {
    return this.#counts.abandoned;
  }

  /** How many reports are sent alone, because the database has refused each by itself. */
  get sentAlone(): number {
    return this.#counts.sentAlone;
  }

  /** The types of which more than `most` reports are sent alone. */
  typesSentAlone(most: number): ReadonlySet<string> {
    const types = new Set<string>();
    if (this.sentAlone <= most) return types;
    const counts = new Map<string, number>();
    for (const { task, delivery } of this.held()) {
      if (delivery?.isAlone !== true) continue;
      const count = (counts.get(task.type) ?? 0) + 1;
      counts.set(task.type, count);
      if (count > most) types.add(task.type);
    }
    return types;
  }

  /** How many tasks are held. */
  get size(): number {
    return this.#waiting.length + this.#counts.running + this.#counts.reporting;
  }

  /** How many more tasks can be claimed. */
  get room(): number {
    return this.#isClosed ? 0 : this.#table.room - this.#counts.reserved;
  }

  get lastChances(): number {
    return this.#suspects.lastChances;
  }

  get runningInline(): number {
    return this.#suspects.runningInline;
  }

  get runningSuspects(): number {
    return this.#suspects.running;
  }

  get runningSuspectsInline(): number {
    return this.#suspects.runningInlineSuspects;
  }

  /** The last claim whose answer was lost; undefined: none, or a scan has looked for its tasks. */
  get lostClaim(): LostClaim | undefined {
    return this.#lostClaim;
  }

  /** Whether it is certain that the database leases no task to this worker. */
  get holdsNothing(): boolean {
    return this.size === 0 && this.#claims.size === 0 && this.#lostClaim === undefined;
  }

  /** Reserve room for a claim of up to `size` tasks. Undefined: there is no room for it. */
  reserve(size: number): Reservation | undefined {
    if (size < 1 || size > this.room) return undefined;
    const reservation = { size, isOutdated: false };
    this.#claims.add(reservation);
    this.#counts.reserved += size;
    return reservation;
  }

  /** Some tasks may no longer run here: the tasks that claims in flight bring must be checked. */
  outdateClaims(): void {
    for (const reservation of this.#claims) reservation.isOutdated = true;
  }

  /**
   * A claim brought these tasks: they wait, or are given back if nothing more may start. Returns those that wait or run
   * here under an older lease of the same id. A claim finds only free rows, so those leases are over.
   */
  claimed(reservation: Reservation, tasks: readonly ClaimedTask[], now: number): HeldTask[] {
    if (!this.#end(reservation)) return [];
    const outlived = this.#unreportedOf(tasks);
    const entries = tasks.map((task) => new Entry(task, this.#table.add(task), now));
    for (const entry of entries) {
      this.#bySlot[entry.slot] = entry;
      if (isLastChance(entry.task)) this.#suspects.lastChances += 1;
    }
    this.#waiting = this.#waiting.length === 0 ? entries : [...this.#waiting, ...entries];
    this.#waiting.sort(byUrgency);
    if (this.#isClosed) this.releaseWaiting(() => true);
    this.#wake();
    return outlived;
  }

  /** The server refused the claim, which took nothing. */
  claimRefused(reservation: Reservation): void {
    if (this.#end(reservation)) this.#wake();
  }

  /** The answer of a claim was lost. A scan finds its tasks once their leases have run out. */
  claimLost(reservation: Reservation, overAt: number): void {
    if (!this.#end(reservation)) return;
    this.#lostClaim = { overAt: Math.max(overAt, this.#lostClaim?.overAt ?? 0) };
    this.#wake();
  }

  /** A scan has looked for the tasks of a lost claim. If another was lost meanwhile, that one stays. */
  searchedFor(lost: LostClaim): void {
    if (this.#lostClaim === lost) this.#lostClaim = undefined;
  }

  /** The waiting task at this index, most urgent first; undefined: fewer wait. */
  waitingAt(index: number): HeldTask | undefined {
    return this.#waiting[index];
  }

  /** A waiting task takes a slot. */
  start(held: HeldTask, attempt: Attempt): held is StartedTask {
    const entry = held as Entry;
    if (entry.state !== 'waiting') return false;
    this.#leaveWaiting(entry);
    entry.state = 'running';
    entry.attempt = attempt;
    this.#counts.running += 1;
    this.#countSuspect(entry, attempt, 1);
    this.#table.start(entry.slot, attempt);
    return true;
  }

  /** The handler ignores its abort: the task keeps its slot. */
  abandon(held: HeldTask): boolean {
    const entry = held as Entry;
    if (entry.state !== 'running' || entry.isAbandoned) return false;
    entry.isAbandoned = true;
    this.#counts.abandoned += 1;
    this.#wake();
    return true;
  }

  /** A task has an outcome to record. */
  report(held: HeldTask, outcome: Outcome, ranMs: number | null): boolean {
    const entry = held as Entry;
    if (!this.#leaveForReport(entry)) return false;
    entry.outcome = outcome;
    entry.ranMs = ranMs;
    return true;
  }

  /** A task has no outcome: it must be given back to the queue. */
  release(held: HeldTask): boolean {
    return this.#leaveForReport(held as Entry);
  }

  /** Release the waiting tasks that match. Returns how many. */
  releaseWaiting(matches: (held: HeldTask) => boolean): number {
    const matching = this.#waiting.filter(matches);
    if (matching.length === 0) return 0;
    const gone = new Set(matching);
    this.#waiting = this.#waiting.filter((entry) => !gone.has(entry));
    for (const entry of matching) {
      if (isLastChance(entry.task)) this.#suspects.lastChances -= 1;
      this.#queueReport(entry);
    }
    return matching.length;
  }

  /** Take reports to be sent: of those that may be sent now, the first that fit. */
  takeReports(now: number, fits: (held: HeldTask) => boolean): HeldTask[] {
    const taken: Entry[] = [];
    const left: Entry[] = [];
    for (const entry of this.#reports) {
      const isReady = entry.delivery === undefined || entry.delivery.notBefore <= now;
      if (isReady && fits(entry)) {
        entry.isSent = true;
        taken.push(entry);
      } else left.push(entry);
    }
    this.#reports = left;
    return taken;
  }

  /** Reports that wait to be sent again wait no longer than until `at` (`performance.now()`). */
  expedite(at: number): void {
    for (const entry of this.#reports) {
      const { delivery } = entry;
      if (delivery !== undefined && delivery.notBefore > at) entry.delivery = { ...delivery, notBefore: at };
    }
  }

  /** When the next report may be sent (`performance.now()`), of those not being sent now. */
  get nextReportAt(): number {
    let next = Infinity;
    for (const { delivery } of this.#reports) next = Math.min(next, delivery?.notBefore ?? 0);
    return next;
  }

  /** Replace an outcome that the database refuses to store. */
  replaceOutcome(held: HeldTask, outcome: Outcome, refusal: unknown): boolean {
    const entry = held as Entry;
    if (!entry.isSent) return false;
    entry.outcome = outcome;
    entry.delivery = { ...(entry.delivery ?? UNSENT), refusal };
    return true;
  }

  /** The statement with these reports got no answer: the database may have taken them. */
  mayBeRecorded(sent: readonly HeldTask[]): void {
    for (const entry of sent as readonly Entry[]) {
      if (entry.isSent) entry.delivery = { ...(entry.delivery ?? UNSENT), isRepeat: true };
    }
  }

  /** These reports were not taken, as far as is known: send them again, before others. */
  requeue(sent: readonly HeldTask[]): void {
    const back = (sent as readonly Entry[]).filter(({ isSent }) => isSent);
    for (const entry of back) entry.isSent = false;
    this.#reports = [...back, ...this.#reports];
  }

  /** This one report could not be taken: send it again later. */
  retryLater(
    held: HeldTask,
    again: Pick<Delivery, 'waitMs' | 'notBefore' | 'isAlone'> &
      Partial<Pick<Delivery, 'isLocked' | 'conflicts'>>,
  ): boolean {
    const entry = held as Entry;
    if (!entry.isSent) return false;
    entry.isSent = false;
    if (again.isAlone && !entry.delivery?.isAlone) this.#counts.sentAlone += 1;
    entry.delivery = { ...(entry.delivery ?? UNSENT), isLocked: false, ...again };
    this.#reports.push(entry);
    return true;
  }

  /** The database has answered its outcome. */
  settled(held: HeldTask): boolean {
    return held.outcome !== null && this.#leaveWithAnswer(held as Entry);
  }

  /** The task waits in the queue again. */
  givenBack(held: HeldTask): boolean {
    return held.outcome === null && this.#leaveWithAnswer(held as Entry);
  }

  /**
   * Another worker has its lease, so there is nothing to report. A task already at `reporting` waits for its answer.
   */
  lost(held: HeldTask): boolean {
    const entry = held as Entry;
    if (entry.state === 'waiting') this.#leaveWaiting(entry);
    else if (entry.state === 'running') this.#leaveRunning(entry);
    else return false;
    if (isLastChance(entry.task)) this.#suspects.lastChances -= 1;
    this.#leave(entry);
    return true;
  }

  /** The held task of a lease; undefined: it is not held. */
  find(lease: HeldLease): HeldTask | undefined {
    const entry = this.#bySlot[lease.slot];
    return entry !== undefined && isSameLease(entry, lease) ? entry : undefined;
  }

  /** All held tasks. */
  held(): HeldTask[] {
    return this.#bySlot.filter((entry) => entry !== undefined);
  }

  /** All running tasks. */
  started(): StartedTask[] {
    return this.held().filter((held): held is StartedTask => held.state === 'running');
  }

  /**
   * The waiting task whose last chance comes next, for which everything makes way; undefined: none waits, or one runs.
   */
  nextLastChance(): HeldTask | undefined {
    if (this.#suspects.lastChances === 0 || this.#suspects.runningLastChances > 0) return undefined;
    return this.#waiting.find(({ task }) => isLastChance(task));
  }

  /** Claim and start nothing more: give back waiting tasks, and those that claims in flight bring. */
  close(): void {
    this.#isClosed = true;
    this.releaseWaiting(() => true);
    this.#wake();
  }

  /** Resolves when only abandoned tasks run. */
  untilNoneRuns(): Promise<void> {
    return this.#until(() => this.#counts.running === this.#counts.abandoned);
  }

  /** Resolves when no task is held and no claim is in flight. */
  untilEmpty(): Promise<void> {
    return this.#until(() => this.size === 0 && this.#claims.size === 0);
  }

  #end(reservation: Reservation): boolean {
    if (!this.#claims.delete(reservation as OpenReservation)) return false;
    this.#counts.reserved -= reservation.size;
    return true;
  }

  /** The tasks with these ids that wait or run. Those at `reporting` wait for their own answer. */
  #unreportedOf(tasks: readonly ClaimedTask[]): Entry[] {
    if (tasks.length === 0 || this.size === 0) return [];
    const ids = new Set(tasks.map(({ id }) => id));
    return this.#bySlot.filter(
      (entry) => entry !== undefined && entry.state !== 'reporting' && ids.has(entry.id),
    ) as Entry[];
  }

  #leaveWaiting(entry: Entry): void {
    if (this.#waiting[0] === entry) this.#waiting.shift();
    else this.#waiting.splice(this.#waiting.indexOf(entry), 1);
  }

  #leaveRunning(entry: Entry): void {
    this.#counts.running -= 1;
    if (entry.isAbandoned) this.#counts.abandoned -= 1;
    this.#countSuspect(entry, entry.attempt!, -1);
  }

  #leaveForReport(entry: Entry): boolean {
    if (entry.state === 'waiting') this.#leaveWaiting(entry);
    else if (entry.state === 'running') this.#leaveRunning(entry);
    else return false;
    if (isLastChance(entry.task)) this.#suspects.lastChances -= 1;
    this.#queueReport(entry);
    this.#wake();
    return true;
  }

  #queueReport(entry: Entry): void {
    entry.state = 'reporting';
    this.#counts.reporting += 1;
    this.#reports.push(entry);
  }

  #leaveWithAnswer(entry: Entry): boolean {
    if (!entry.isSent) return false;
    entry.isSent = false;
    this.#counts.reporting -= 1;
    if (entry.delivery?.isAlone) this.#counts.sentAlone -= 1;
    this.#leave(entry);
    return true;
  }

  #leave(entry: Entry): void {
    entry.state = 'gone';
    this.#bySlot[entry.slot] = undefined;
    this.#table.remove(entry.slot);
    this.#wake();
  }

  #countSuspect({ task }: Entry, { isIsolated }: Attempt, by: 1 | -1): void {
    if (!isIsolated) this.#suspects.runningInline += by;
    if (!isSuspect(task)) return;
    this.#suspects.running += by;
    if (!isIsolated) this.#suspects.runningInlineSuspects += by;
    if (isLastChance(task)) this.#suspects.runningLastChances += by;
  }

  #until(isMet: () => boolean): Promise<void> {
    if (isMet()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#waiters.push({ isMet, resolve });
    });
  }

  /** Resolve the promises whose condition now holds. */
  #wake(): void {
    if (this.#waiters.length === 0) return;
    for (const { isMet, resolve } of this.#waiters) if (isMet()) resolve();
    this.#waiters = this.#waiters.filter(({ isMet }) => !isMet());
  }
}

interface Waiter {
  readonly isMet: () => boolean;
  readonly resolve: () => void;
}

interface OpenReservation extends Reservation {
  isOutdated: boolean;
}

/** A held task that the ledger can change. */
class Entry implements HeldTask {
  readonly task: ClaimedTask;
  readonly id: string;
  readonly leaseNo: number;
  readonly slot: number;
  readonly claimedAt: number;
  state: HeldState = 'waiting';
  attempt: Attempt | undefined = undefined;
  outcome: Outcome | null = null;
  ranMs: number | null = null;
  delivery: Delivery | undefined = undefined;
  isAbandoned = false;
  isSent = false;

  constructor(task: ClaimedTask, slot: number, claimedAt: number) {
    this.task = task;
    this.id = task.id;
    this.leaseNo = task.leaseNo;
    this.slot = slot;
    this.claimedAt = claimedAt;
  }
}

const UNSENT: Delivery = {
  isRepeat: false,
  isAlone: false,
  isLocked: false,
  conflicts: 0,
  waitMs: 0,
  notBefore: 0,
  refusal: undefined,
};

function byUrgency(a: HeldTask, b: HeldTask): number {
  return a.task.priority - b.task.priority || a.task.availableAtUs - b.task.availableAtUs;
}
