import type { Outcome } from '../../domain/outcome.ts';
import { byUrgency, type ClaimedTask, isSameLease } from '../../domain/task.ts';
import { Conditions } from '../../lib/conditions.ts';
import type { Attempt } from '../attempt/attempt.ts';
import { HeldEntry } from './held-entry.ts';
import type { HeldTask, StartedTask } from './held-task.ts';
import type { HeldLease, LeaseTable } from './lease-table.ts';
import { Reports } from './reports.ts';
import { SuspectCounter, type SuspectCounts } from './suspects.ts';

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
 * comes too late, for a task that has moved on, changes nothing and returns false.
 */
export class Ledger {
  readonly #table: LeaseTable;
  /** All held tasks, by slot. Each task that is handed out is its entry here. */
  readonly #bySlot: (HeldEntry | undefined)[] = [];
  readonly #claims = new Set<OpenReservation>();
  /** Most urgent first. */
  #waiting: HeldEntry[] = [];
  readonly #reports = new Reports();
  readonly #suspects = new SuspectCounter();
  readonly #conditions = new Conditions();
  #reserved = 0;
  #running = 0;
  #sharing = 0;
  #abandoned = 0;
  #lostClaims: readonly LostClaim[] = [];
  #isClosed = false;

  constructor(table: LeaseTable) {
    this.#table = table;
  }

  /** How many tasks the claims in flight may bring. */
  get reserved(): number {
    return this.#reserved;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** How many tasks run, including abandoned ones. */
  get running(): number {
    return this.#running;
  }

  /** How many running tasks take no slot of their own. */
  get sharing(): number {
    return this.#sharing;
  }

  get reporting(): number {
    return this.#reports.size;
  }

  /** How many running tasks have handlers that ignore their abort. */
  get abandoned(): number {
    return this.#abandoned;
  }

  /** How many tasks are held. */
  get size(): number {
    return this.#waiting.length + this.#running + this.#reports.size;
  }

  /** How many more tasks can be claimed. */
  get room(): number {
    return this.#isClosed ? 0 : this.#table.room - this.#reserved;
  }

  get suspects(): SuspectCounts {
    return this.#suspects;
  }

  /** The reports of tasks at `reporting`, for the reporter. */
  get reports(): Omit<Reports, 'add' | 'answered'> {
    return this.#reports;
  }

  /** The claims whose answers were lost, and for whose tasks no scan has looked. */
  get lostClaims(): readonly LostClaim[] {
    return this.#lostClaims;
  }

  /** Whether it is certain that the database leases no task to this worker. */
  get holdsNothing(): boolean {
    return this.size === 0 && this.#claims.size === 0 && this.#lostClaims.length === 0;
  }

  /** Reserve room for a claim of up to `size` tasks. Undefined: there is no room for it. */
  reserve(size: number): Reservation | undefined {
    if (size < 1 || size > this.room) return undefined;
    const reservation = { size, isOutdated: false };
    this.#claims.add(reservation);
    this.#reserved += size;
    return reservation;
  }

  /** Some tasks may no longer run here: the tasks that claims in flight bring must be checked. */
  outdateClaims(): void {
    for (const reservation of this.#claims) reservation.isOutdated = true;
  }

  /**
   * A claim brought these tasks: they wait, or are given back if no more tasks may start. Returns those that wait or
   * run here under an older lease of the same id. A claim finds only free rows, so those leases are over.
   */
  claimed(reservation: Reservation, tasks: readonly ClaimedTask[], now: number): HeldTask[] {
    if (!this.#end(reservation)) return [];
    const outlived = this.#unreportedOf(tasks);
    const entries = tasks.map((task) => new HeldEntry(task, this.#table.add(task), now));
    for (const entry of entries) {
      this.#bySlot[entry.slot] = entry;
      this.#suspects.claimed(entry.task);
    }
    this.#waiting = this.#waiting.length === 0 ? entries : [...this.#waiting, ...entries];
    this.#waiting.sort((a, b) => byUrgency(a.task, b.task));
    if (this.#isClosed) this.releaseWaiting(() => true);
    this.#conditions.check();
    return outlived;
  }

  /** The server refused the claim, which took nothing. */
  claimRefused(reservation: Reservation): void {
    if (this.#end(reservation)) this.#conditions.check();
  }

  /** The answer of a claim was lost. A scan finds its tasks once their leases have run out. */
  claimLost(reservation: Reservation, overAt: number): void {
    if (!this.#end(reservation)) return;
    this.#lostClaims = [...this.#lostClaims, { overAt }];
    this.#conditions.check();
  }

  /** A scan has looked for the tasks of these lost claims. Others stay, however often claims are lost. */
  searchedFor(claims: readonly LostClaim[]): void {
    // After a day without answers there are thousands.
    const searched = new Set(claims);
    this.#lostClaims = this.#lostClaims.filter((lost) => !searched.has(lost));
  }

  /** The waiting task at this index, most urgent first; undefined: fewer wait. */
  waitingAt(index: number): HeldTask | undefined {
    return this.#waiting[index];
  }

  /** A waiting task takes a slot, or shares one. */
  start(held: HeldTask, attempt: Attempt): held is StartedTask {
    const entry = held as HeldEntry;
    if (entry.state !== 'waiting') return false;
    this.#leaveWaiting(entry);
    entry.state = 'running';
    entry.attempt = attempt;
    this.#running += 1;
    if (attempt.sharesSlot) this.#sharing += 1;
    this.#suspects.started(entry.task, attempt.isIsolated);
    this.#table.start(entry.slot, attempt);
    return true;
  }

  /** A running task did not begin: it waits again, or is given back if no more tasks may start. */
  putBack(held: HeldTask): boolean {
    const entry = held as HeldEntry;
    if (entry.state !== 'running') return false;
    this.#leaveRunning(entry);
    entry.state = 'waiting';
    entry.attempt = undefined;
    entry.isAbandoned = false;
    this.#table.putBack(entry.slot);
    this.#waiting = [entry, ...this.#waiting];
    this.#waiting.sort((a, b) => byUrgency(a.task, b.task));
    if (this.#isClosed) this.releaseWaiting(() => true);
    this.#conditions.check();
    return true;
  }

  /** The handler ignores its abort: the task keeps its slot. */
  abandon(held: HeldTask): boolean {
    const entry = held as HeldEntry;
    if (entry.state !== 'running' || entry.isAbandoned) return false;
    entry.isAbandoned = true;
    this.#abandoned += 1;
    this.#conditions.check();
    return true;
  }

  /** A task has an outcome to record. */
  report(held: HeldTask, outcome: Outcome, ranMs: number | null): boolean {
    const entry = held as HeldEntry;
    if (!this.#leaveForReport(entry)) return false;
    entry.outcome = outcome;
    entry.ranMs = ranMs;
    return true;
  }

  /** The handler's own transaction has recorded this outcome: nothing is left to report. */
  recorded(held: HeldTask, outcome: Outcome, ranMs: number): boolean {
    const entry = held as HeldEntry;
    if (!this.#withdraw(entry)) return false;
    entry.outcome = outcome;
    entry.ranMs = ranMs;
    this.#leave(entry);
    return true;
  }

  /** A task has no outcome: it must be given back to the queue. */
  release(held: HeldTask): boolean {
    return this.#leaveForReport(held as HeldEntry);
  }

  /** Release the waiting tasks that match. Returns how many. */
  releaseWaiting(matches: (held: HeldTask) => boolean): number {
    const matching = this.#waiting.filter(matches);
    if (matching.length === 0) return 0;
    const gone = new Set(matching);
    this.#waiting = this.#waiting.filter((entry) => !gone.has(entry));
    for (const entry of matching) {
      this.#suspects.left(entry.task);
      this.#reports.add(entry);
    }
    return matching.length;
  }

  /** The database has answered its outcome. */
  settled(held: HeldTask): boolean {
    return held.outcome !== null && this.#leaveWithAnswer(held as HeldEntry);
  }

  /** The task waits in the queue again. */
  givenBack(held: HeldTask): boolean {
    return held.outcome === null && this.#leaveWithAnswer(held as HeldEntry);
  }

  /**
   * Another worker has its lease, so there is nothing to report. A task already at `reporting` waits for its answer.
   */
  lost(held: HeldTask): boolean {
    const entry = held as HeldEntry;
    if (!this.#withdraw(entry)) return false;
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

  /** The next waiting task with its last chance, for which all others wait; undefined: none waits, or one runs. */
  nextLastChance(): HeldTask | undefined {
    if (this.#suspects.lastChances === 0 || this.#suspects.runningLastChances > 0) return undefined;
    return this.#waiting.find(({ task }) => task.hasLastChance);
  }

  /** Stop claiming and starting tasks: give back waiting tasks, and those that claims in flight bring. */
  close(): void {
    this.#isClosed = true;
    this.releaseWaiting(() => true);
    this.#conditions.check();
  }

  /** Resolves when only abandoned tasks run. */
  untilNoneRuns(): Promise<void> {
    return this.#conditions.until(() => this.#running === this.#abandoned);
  }

  /** Resolves when no task is held and no claim is in flight. */
  untilEmpty(): Promise<void> {
    return this.#conditions.until(() => this.size === 0 && this.#claims.size === 0);
  }

  #end(reservation: Reservation): boolean {
    if (!this.#claims.delete(reservation as OpenReservation)) return false;
    this.#reserved -= reservation.size;
    return true;
  }

  /** The tasks with these ids that wait or run. Those at `reporting` wait for their own answer. */
  #unreportedOf(tasks: readonly ClaimedTask[]): HeldEntry[] {
    if (tasks.length === 0 || this.size === 0) return [];
    const ids = new Set(tasks.map(({ id }) => id));
    return this.#bySlot.filter(
      (entry) => entry !== undefined && entry.state !== 'reporting' && ids.has(entry.id),
    ) as HeldEntry[];
  }

  #leaveWaiting(entry: HeldEntry): void {
    if (this.#waiting[0] === entry) this.#waiting.shift();
    else this.#waiting.splice(this.#waiting.indexOf(entry), 1);
  }

  #leaveRunning(entry: HeldEntry): void {
    this.#running -= 1;
    if (entry.attempt!.sharesSlot) this.#sharing -= 1;
    if (entry.isAbandoned) this.#abandoned -= 1;
    this.#suspects.ended(entry.task, entry.attempt!.isIsolated);
  }

  /** A task no longer waits or runs. False: it did neither. */
  #withdraw(entry: HeldEntry): boolean {
    if (entry.state === 'waiting') this.#leaveWaiting(entry);
    else if (entry.state === 'running') this.#leaveRunning(entry);
    else return false;
    this.#suspects.left(entry.task);
    return true;
  }

  #leaveForReport(entry: HeldEntry): boolean {
    if (!this.#withdraw(entry)) return false;
    this.#reports.add(entry);
    this.#conditions.check();
    return true;
  }

  #leaveWithAnswer(entry: HeldEntry): boolean {
    if (!this.#reports.answered(entry)) return false;
    this.#leave(entry);
    return true;
  }

  #leave(entry: HeldEntry): void {
    entry.state = 'gone';
    this.#bySlot[entry.slot] = undefined;
    this.#table.remove(entry.slot);
    this.#conditions.check();
  }
}

interface OpenReservation extends Reservation {
  isOutdated: boolean;
}
