import { type LeaseTable, processClock } from '../lease/lease-table.ts';
import {
  type CancelRequests,
  decideUnresponsive,
  patienceWith,
  type Silence,
} from './decide-unresponsive.ts';
import { type BlockedProcess, endProcess } from './end-process.ts';
import { inspectMainThread } from './inspect-main-thread.ts';

export interface WatchdogSetup extends BlockedProcess {
  readonly graceMs: number;
  /** In a shared process the watchdog ends nothing: it lets the leases of a blocked main thread run out. */
  readonly process: 'own' | 'shared';
}

/** If two checks are this far apart, this thread did not run either. */
const STOPPED_MS = 2000;

/** A thread that runs code answers at once, on a busy machine within seconds; one in a system call does not. */
const INSPECTION_MS = 5000;

/**
 * Ends the process if the main thread is blocked: when the handler that blocks it has run two seconds longer than the
 * grace after its timeout or cancellation, or for five minutes without either.
 */
export class Watchdog {
  readonly #table: LeaseTable;
  readonly #setup: WatchdogSetup;
  #lookedAt = 0;
  /** Since when this thread has run without a stop. */
  #awakeSince = 0;
  /** Decide nothing before `until` about the silence that began with this beat. */
  #decided = { beat: 0, at: 0, until: 0 };
  #isBusy = false;
  /** The beat after which a process that is not ours should have been ended. */
  #lastBeatOfShared: number | undefined;

  constructor(table: LeaseTable, setup: WatchdogSetup) {
    this.#table = table;
    this.#setup = setup;
  }

  /**
   * Check the main thread. Called from the other thread every half second. True: the process should end, but is not
   * ours to end.
   */
  async look(cancels: CancelRequests): Promise<boolean> {
    const { graceMs } = this.#setup;
    const now = processClock();
    // A process that was stopped (SIGSTOP, a frozen container) has two silent threads; its main thread is not to blame.
    if (now - this.#lookedAt > STOPPED_MS) this.#awakeSince = now;
    this.#lookedAt = now;
    const { lastBeat, lastEntered } = this.#table;
    const silentMs = now - Math.max(lastBeat, this.#awakeSince);
    if (this.#lastBeatOfShared === lastBeat) return true;
    if (lastBeat === 0 || this.#isBusy || silentMs < Math.min(graceMs, 1000) + 2000) return false;
    const isNews = [...cancels.values()].some(({ receivedAt }) => receivedAt > this.#decided.at);
    if (this.#decided.beat === lastBeat && now < this.#decided.until && !isNews) return false;
    const rows = this.#table.rows();
    const silence: Silence = { rows, lastEntered, now, silentMs, graceMs, cancels };
    if (patienceWith(silence) > 0) return false;
    const busy = await this.#alone(() => inspectMainThread(INSPECTION_MS));
    const verdict = decideUnresponsive(silence, busy);
    if (verdict.kind === 'wait') {
      const waitMs = busy === undefined ? Math.min(verdict.ms, INSPECTION_MS) : verdict.ms;
      this.#decided = { beat: lastBeat, at: now, until: processClock() + waitMs };
      return false;
    }
    const isStillBlocked = () => this.#table.lastBeat === lastBeat;
    if (!isStillBlocked()) return false;
    if (this.#setup.process === 'shared') {
      this.#lastBeatOfShared = lastBeat;
      return true;
    }
    await this.#alone(() => endProcess(this.#setup, verdict, isStillBlocked));
    return false;
  }

  /** Meanwhile other checks decide nothing. */
  async #alone<Value>(work: () => Promise<Value>): Promise<Value> {
    this.#isBusy = true;
    try {
      return await work();
    } finally {
      this.#isBusy = false;
    }
  }
}
