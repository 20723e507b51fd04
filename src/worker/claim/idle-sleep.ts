import type { Wakeup } from '../../lib/wakeup.ts';
import type { Room } from '../../queue/protocol/claim.ts';
import type { ClaimContext } from './claim-context.ts';
import type { Claimer } from './claimer.ts';

/** The worker of an idle sleep. */
export interface IdleHost {
  /** End a worker that has run `maxTasks`, or can run no other task. */
  endIfDone(): void;
  /** Called when nothing is due: end the worker if it has nothing to wait for. Returns whether it ends. */
  endIfIdle(): Promise<boolean>;
  /** How many tasks to claim now. */
  room(): Room;
  /** How often to look for tasks when nothing is due. */
  readonly pollMs: number;
  /** Whether hints arrive; an idle worker then polls less often. */
  readonly receivesHints: boolean;
}

export interface IdleSleepOptions {
  readonly host: IdleHost;
  readonly claimer: Claimer;
  readonly context: ClaimContext;
  /** Triggered when there may be tasks to claim. */
  readonly workArrived: Wakeup;
  readonly stop: AbortSignal;
}

/** The poll interval of an idle worker that receives hints. */
const POLL_WITH_HINTS_MS = 5000;
/** A mark is valid for this much longer than until the poll that renews it. */
const MARK_MARGIN_MS = 1000;
/**
 * An idle worker looks again this soon after it was marked, then at doubling intervals. A producer that enqueued before
 * the mark was visible, and committed after the last look, sent no hint: its task is found after about twice the time
 * that its transaction was open.
 */
const FIRST_NAP_MS = 50;

/** When a worker was marked as idle, and until when the mark, which may have been renewed since, is valid. */
interface Mark {
  since: number;
  until: number;
}

/**
 * The sleep of a worker for which nothing is due. While it is marked as idle, producers send hints; an occasional task
 * leaves the mark in place.
 */
export class IdleSleep {
  readonly #options: IdleSleepOptions;
  #mark: Mark | undefined;

  constructor(options: IdleSleepOptions) {
    this.#options = options;
  }

  get isMarked(): boolean {
    return this.#mark !== undefined;
  }

  async unmark(): Promise<void> {
    await this.#options.context.leaveIdle();
    this.#mark = undefined;
  }

  /**
   * Sleep until a hint, the next due task, the time when a limited queue is open again, or the next poll. The mark is
   * set before the last look, because tasks committed before it was visible sent no hint. Returns how many tasks the
   * last look claimed; if there are any, the sleep ends.
   */
  async sleep(idleSince: number): Promise<number> {
    const { host, claimer, context, workArrived, stop } = this.#options;
    this.#mark ??= { since: idleSince, until: idleSince };
    const mark = this.#mark;
    if (performance.now() > mark.until || !host.receivesHints) mark.since = performance.now();
    for (;;) {
      // The longer the mark has been set, the fewer open transactions have not seen it.
      const napMs = Math.max(FIRST_NAP_MS, performance.now() - mark.since);
      if (stop.aborted || (await host.endIfIdle())) return 0;
      const pollMs = host.receivesHints ? Math.max(host.pollMs, POLL_WITH_HINTS_MS) : host.pollMs;
      const markMs = pollMs + MARK_MARGIN_MS;
      mark.until = performance.now() + markMs;
      const { dueMs, mostMs, queues } = await context.enterIdle(markMs);
      host.endIfDone();
      const got = await claimer.claim(claimer.roomOf(host.room()), queues, { stop, isFollowing: false });
      const { wantsSlot, sweepInMs, opensInMs } = claimer.found;
      if (got > 0 || wantsSlot) return got;
      // A claim without a sweep did not look for tasks that were locked, or committed late: the next one comes for that.
      const sleepMs = Math.min(pollMs, napMs, mostMs, sweepInMs ?? Infinity);
      const nextMs = Math.min(dueMs ?? Infinity, opensInMs ?? Infinity);
      const waited = await workArrived.wait(Math.max(1, Math.min(sleepMs, nextMs)), stop);
      if (waited !== 'elapsed' || nextMs <= sleepMs) return 0;
    }
  }
}
