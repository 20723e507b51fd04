import type { Outcome } from '../../domain/outcome.ts';
import { type ClaimedTask, isSameLease } from '../../domain/task.ts';
import type { Attempt } from '../attempt/attempt.ts';
import type { Delivery, HeldTask, Standing, StartedTask } from './held-task.ts';
import type { HeldLease, LeaseTable } from './lease-table.ts';
import { type Beside, isLastChance, isSuspect } from './suspects.ts';

/** A claim under way, which may bring so many tasks. */
export interface Reservation {
  readonly size: number;
  /** Since it left, something changed that makes some tasks unwelcome here: what it brings is looked through. */
  readonly isOutdated: boolean;
}

/** The answer of a claim was lost: tasks may be ours that nobody here knows of. */
export interface LostClaim {
  /** Their leases have run out by then (`performance.now()`), and a scan finds them. */
  readonly overAt: number;
}

/**
 * Everything a worker holds, and where it stands. Nothing else writes that, or the table of leases. It reads no clock
 * and asks nobody: each step is told what happened, and answers whether it counts. A step that comes too late, for a
 * task that has gone on meanwhile, changes nothing and answers false.
 */
export class Ledger implements Beside {
  readonly #table: LeaseTable;
  /** All that is held, by its row in the table. */
  readonly #bySlot: (Entry | undefined)[] = [];
  readonly #claims = new Set<OpenReservation>();
  /** Most urgent first. */
  #waiting: Entry[] = [];
  /** What stands at `reporting` and is not with the database now. */
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
  #sleepers: Sleeper[] = [];

  constructor(table: LeaseTable) {
    this.#table = table;
  }

  /** How many tasks claims under way may bring. */
  get reserved(): number {
    return this.#counts.reserved;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  /** How many run, those included that were abandoned. */
  get running(): number {
    return this.#counts.running;
  }

  get reporting(): number {
    return this.#counts.reporting;
  }

  /** How many run whose handlers ignore that they were asked to end. */
  get abandoned(): number {
    return this.#counts.abandoned;
  }

  /** How many reports the database has refused by themselves, so that each is sent alone. */
  get sentAlone(): number {
    return this.#counts.sentAlone;
  }

  /** How many are held. */
  get size(): number {
    return this.#waiting.length + this.#counts.running + this.#counts.reporting;
  }

  /** How many more can be claimed. */
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

  /** The claim whose answer was lost last; undefined: none was, or a scan has looked for its tasks. */
  get lostClaim(): LostClaim | undefined {
    return this.#lostClaim;
  }

  /** A claim leaves that may bring so many. Undefined: there is no room for it. */
  reserve(size: number): Reservation | undefined {
    if (size < 1 || size > this.room) return undefined;
    const reservation = { size, isOutdated: false };
    this.#claims.add(reservation);
    this.#counts.reserved += size;
    return reservation;
  }

  /** Something changed that makes some tasks unwelcome here. */
  outdateClaims(): void {
    for (const reservation of this.#claims) reservation.isOutdated = true;
  }

  /** A claim brought these: they wait, or are given back where nothing is to start any more. */
  answered(reservation: Reservation, tasks: readonly ClaimedTask[], now: number): void {
    if (!this.#end(reservation)) return;
    const entries = tasks.map((task) => new Entry(task, this.#table.take(task), now));
    for (const entry of entries) {
      this.#bySlot[entry.slot] = entry;
      if (isLastChance(entry.task)) this.#suspects.lastChances += 1;
    }
    this.#waiting = this.#waiting.length === 0 ? entries : [...this.#waiting, ...entries];
    this.#waiting.sort(byUrgency);
    if (this.#isClosed) this.releaseWaiting(() => true);
    this.#wake();
  }

  /** The server refused a claim: it took nothing. */
  refused(reservation: Reservation): void {
    if (this.#end(reservation)) this.#wake();
  }

  /** The answer of a claim was lost. What it took is found once its leases have run out. */
  answerLost(reservation: Reservation, overAt: number): void {
    if (!this.#end(reservation)) return;
    this.#lostClaim = { overAt: Math.max(overAt, this.#lostClaim?.overAt ?? 0) };
    this.#wake();
  }

  /** A scan has looked for the tasks of a lost claim. Another may have been lost meanwhile. */
  lookedFor(lost: LostClaim): void {
    if (this.#lostClaim === lost) this.#lostClaim = undefined;
  }

  /** The one of those that wait that is so far behind the most urgent; undefined: there are not so many. */
  waitingAt(index: number): HeldTask | undefined {
    return this.#waiting[index];
  }

  /** A task takes a slot. */
  start(held: HeldTask, attempt: Attempt): held is StartedTask {
    const entry = held as Entry;
    if (entry.standing !== 'waiting') return false;
    this.#leaveWaiting(entry);
    entry.standing = 'running';
    entry.attempt = attempt;
    this.#counts.running += 1;
    this.#countBeside(entry, attempt, 1);
    this.#table.start(entry.slot, attempt);
    return true;
  }

  /** Its handler ignores that it was asked to end: it keeps its slot. */
  abandon(held: HeldTask): boolean {
    const entry = held as Entry;
    if (entry.standing !== 'running' || entry.isAbandoned) return false;
    entry.isAbandoned = true;
    this.#counts.abandoned += 1;
    this.#wake();
    return true;
  }

  /** What came of a task is to be recorded. */
  report(held: HeldTask, outcome: Outcome, ranMs: number | null): boolean {
    const entry = held as Entry;
    if (!this.#leaveForReport(entry)) return false;
    entry.outcome = outcome;
    entry.ranMs = ranMs;
    return true;
  }

  /** Nothing came of a task: it is to wait in the queue again. */
  release(held: HeldTask): boolean {
    return this.#leaveForReport(held as Entry);
  }

  /** Release these of the tasks that wait. Returns how many. */
  releaseWaiting(isMeant: (held: HeldTask) => boolean): number {
    const meant = this.#waiting.filter(isMeant);
    if (meant.length === 0) return 0;
    const gone = new Set(meant);
    this.#waiting = this.#waiting.filter((entry) => !gone.has(entry));
    for (const entry of meant) {
      if (isLastChance(entry.task)) this.#suspects.lastChances -= 1;
      this.#queueReport(entry);
    }
    return meant.length;
  }

  /** Take reports to the database: of those that may be sent now, the first for which there is room. */
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

  /** When the next report may be sent (`performance.now()`): of those not with the database now. */
  get nextReportAt(): number {
    let next = Infinity;
    for (const { delivery } of this.#reports) next = Math.min(next, delivery?.notBefore ?? 0);
    return next;
  }

  /** The outcome is another one: the database refuses to store what it was. */
  replaceOutcome(held: HeldTask, outcome: Outcome, refusal: unknown): boolean {
    const entry = held as Entry;
    if (!entry.isSent) return false;
    entry.outcome = outcome;
    entry.delivery = { ...(entry.delivery ?? FIRST), refusal };
    return true;
  }

  /** The database was not able to take these reports: they are sent again, before others. `isRepeat`: it may have. */
  unanswered(sent: readonly HeldTask[], isRepeat: boolean): void {
    const back = (sent as readonly Entry[]).filter(({ isSent }) => isSent);
    for (const entry of back) {
      entry.isSent = false;
      if (isRepeat) entry.delivery = { ...(entry.delivery ?? FIRST), isRepeat };
    }
    this.#reports = [...back, ...this.#reports];
  }

  /** This one report could not be taken: it is sent again later. */
  sendLater(held: HeldTask, again: Pick<Delivery, 'waitMs' | 'notBefore' | 'isAlone'>): boolean {
    const entry = held as Entry;
    if (!entry.isSent) return false;
    entry.isSent = false;
    if (again.isAlone && !entry.delivery?.isAlone) this.#counts.sentAlone += 1;
    entry.delivery = { ...(entry.delivery ?? FIRST), ...again };
    this.#reports.push(entry);
    return true;
  }

  /** Its outcome has its answer. */
  settled(held: HeldTask): boolean {
    return held.outcome !== null && this.#leaveWithAnswer(held as Entry);
  }

  /** It waits in the queue again. */
  givenBack(held: HeldTask): boolean {
    return held.outcome === null && this.#leaveWithAnswer(held as Entry);
  }

  /** Its lease is somebody else's: there is nothing to report. One that has a report is answered by its answer. */
  lost(held: HeldTask): boolean {
    const entry = held as Entry;
    if (entry.standing === 'waiting') this.#leaveWaiting(entry);
    else if (entry.standing === 'running') this.#leaveRunning(entry);
    else return false;
    if (isLastChance(entry.task)) this.#suspects.lastChances -= 1;
    this.#leave(entry);
    return true;
  }

  /** The task of a lease; undefined: it is not held. */
  find(lease: HeldLease): HeldTask | undefined {
    const entry = this.#bySlot[lease.slot];
    return entry !== undefined && isSameLease(entry, lease) ? entry : undefined;
  }

  /** All that is held. */
  held(): HeldTask[] {
    return this.#bySlot.filter((entry) => entry !== undefined);
  }

  /** All that runs. */
  started(): StartedTask[] {
    return this.held().filter((held): held is StartedTask => held.standing === 'running');
  }

  /** The task that waits for its last chance while none has it; undefined: there is none. Everything makes way for it. */
  nextLastChance(): HeldTask | undefined {
    if (this.#suspects.lastChances === 0 || this.#suspects.runningLastChances > 0) return undefined;
    return this.#waiting.find(({ task }) => isLastChance(task));
  }

  /** Claim and start nothing any more: what waits is given back, and what claims under way bring. */
  close(): void {
    this.#isClosed = true;
    this.releaseWaiting(() => true);
    this.#wake();
  }

  /** Resolves when nothing runs but what was abandoned. */
  untilNoneRuns(): Promise<void> {
    return this.#until(() => this.#counts.running === this.#counts.abandoned);
  }

  /** Resolves when nothing is held, and no claim under way. */
  untilEmpty(): Promise<void> {
    return this.#until(() => this.size === 0 && this.#claims.size === 0);
  }

  #end(reservation: Reservation): boolean {
    if (!this.#claims.delete(reservation as OpenReservation)) return false;
    this.#counts.reserved -= reservation.size;
    return true;
  }

  #leaveWaiting(entry: Entry): void {
    if (this.#waiting[0] === entry) this.#waiting.shift();
    else this.#waiting.splice(this.#waiting.indexOf(entry), 1);
  }

  #leaveRunning(entry: Entry): void {
    this.#counts.running -= 1;
    if (entry.isAbandoned) this.#counts.abandoned -= 1;
    this.#countBeside(entry, entry.attempt!, -1);
  }

  #leaveForReport(entry: Entry): boolean {
    if (entry.standing === 'waiting') this.#leaveWaiting(entry);
    else if (entry.standing === 'running') this.#leaveRunning(entry);
    else return false;
    if (isLastChance(entry.task)) this.#suspects.lastChances -= 1;
    this.#queueReport(entry);
    this.#wake();
    return true;
  }

  #queueReport(entry: Entry): void {
    entry.standing = 'reporting';
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
    entry.standing = 'gone';
    this.#bySlot[entry.slot] = undefined;
    this.#table.leave(entry.slot);
    this.#wake();
  }

  #countBeside({ task }: Entry, { isApart }: Attempt, by: 1 | -1): void {
    if (!isApart) this.#suspects.runningInline += by;
    if (!isSuspect(task)) return;
    this.#suspects.running += by;
    if (!isApart) this.#suspects.runningInlineSuspects += by;
    if (isLastChance(task)) this.#suspects.runningLastChances += by;
  }

  #until(isSo: () => boolean): Promise<void> {
    if (isSo()) return Promise.resolve();
    return new Promise((resolve) => {
      this.#sleepers.push({ isSo, resolve });
    });
  }

  /** Something may have come true that somebody waits for. */
  #wake(): void {
    if (this.#sleepers.length === 0) return;
    for (const { isSo, resolve } of this.#sleepers) if (isSo()) resolve();
    this.#sleepers = this.#sleepers.filter(({ isSo }) => !isSo());
  }
}

interface Sleeper {
  readonly isSo: () => boolean;
  readonly resolve: () => void;
}

interface OpenReservation extends Reservation {
  isOutdated: boolean;
}

/** A held task, as the ledger writes it. */
class Entry implements HeldTask {
  readonly task: ClaimedTask;
  readonly id: string;
  readonly leaseNo: number;
  readonly slot: number;
  readonly claimedAt: number;
  standing: Standing = 'waiting';
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

const FIRST: Delivery = { isRepeat: false, isAlone: false, waitMs: 0, notBefore: 0, refusal: undefined };

function byUrgency(a: HeldTask, b: HeldTask): number {
  return a.task.priority - b.task.priority || a.task.availableAtUs - b.task.availableAtUs;
}
