import type { Outcome } from '../../domain/outcome.ts';
import { backingOffMs } from '../../lib/backing-off.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import type { EndedTask, HeldTask } from '../lease/held-task.ts';
import type { Ledger } from '../lease/ledger.ts';
import type { ReportingWorker } from '../lease/registered-worker.ts';
import { type GiveBackHooks, type GiveBackOptions, giveBackTasks } from './give-back-tasks.ts';
import { KeyedOutcomes, waitsForKeys } from './keyed-outcomes.ts';
import { type NoteHooks, NoteRecorder } from './note-recorder.ts';
import {
  deservesWait,
  mayFreeSlots,
  OutcomeRecorder,
  type RecorderHooks,
  vainWaitsOf,
} from './outcome-recorder.ts';
import { RetryWait } from './retry-wait.ts';

export interface ReporterHooks {
  readonly outcomes: Omit<RecorderHooks, 'onStatementFailed'>;
  readonly notes: Omit<NoteHooks, 'onStatementFailed'>;
  readonly onGivenBack: GiveBackHooks['onGivenBack'];
  /** A statement failed and will be sent again. */
  readonly onStatementFailed: (error: unknown) => void;
  /** The last batch is finished: there may be room for more tasks. */
  readonly onSent: () => void;
  /** These outcomes are on their way. `isFollowed`: a claim that is sent right after them finds what they free. */
  readonly onSending: (outcomes: readonly EndedTask[], isFollowed: boolean) => void;
}

/** A larger statement gains nothing. */
const MAX_BATCH = 2000;
/** Limit the results and follow-ups in one statement to about this many characters. */
const MAX_BATCH_LENGTH = 16_000_000;
/** At most this many reports that are sent alone go between two statements of the others. */
const MAX_ALONE_PER_BATCH = 4;
/** If more reports of a type than this are refused by themselves, no more of its tasks are claimed. */
const MAX_ALONE_PER_TYPE = 20;

/**
 * Sends the ledger's reports to the database: outcomes, and tasks to give back. Batches form naturally: one is in
 * flight at a time, and reports that arrive meanwhile go together in the next. Outcomes whose follow-ups have keys go
 * beside them. Nothing is dropped: a report stays in the ledger until the database has answered it.
 */
export class Reporter {
  readonly notes: NoteRecorder;
  readonly #worker: ReportingWorker;
  readonly #ledger: Ledger;
  readonly #hooks: ReporterHooks;
  readonly #retryWait: RetryWait;
  readonly #recorder: OutcomeRecorder;
  readonly #keyed: KeyedOutcomes;
  readonly #givingBack: GiveBackOptions;
  readonly #arrived = new Wakeup();
  /** Not triggered by new reports: they are no reason to retry while the database refuses. */
  readonly #retry = new Wakeup();
  /** Triggered by an effect, and when fewer outcomes may be on their way. */
  readonly #changed = new Wakeup();
  #effects = 0;
  /** Consecutive batches that could not be sent completely. */
  #failures = 0;
  #isSending = false;

  constructor(worker: ReportingWorker, ledger: Ledger, hooks: ReporterHooks) {
    const { onGivenBack, onStatementFailed } = hooks;
    const retryWait = new RetryWait(ledger.reports);
    const recording = { worker, ledger, retryWait, hooks: { ...hooks.outcomes, onStatementFailed } };
    this.#worker = worker;
    this.#ledger = ledger;
    this.notes = new NoteRecorder(worker, { ...hooks.notes, onStatementFailed });
    this.#hooks = hooks;
    this.#retryWait = retryWait;
    this.#recorder = new OutcomeRecorder({ ...recording, pipeline: worker.pipeline });
    this.#keyed = new KeyedOutcomes({
      recorder: new OutcomeRecorder(recording),
      retryWait,
      onStatementFailed,
      onSent: () => {
        this.wake(); // to send outcomes that wait for another try
        this.#onAnswered();
      },
    });
    this.#givingBack = { worker, ledger, retryWait, hooks: { onGivenBack, onStatementFailed } };
  }

  /** True while the database takes no reports; then start nothing new. */
  get isStuck(): boolean {
    return this.#failures > 0;
  }

  /** The types whose outcomes the database refuses one by one; claim none of their tasks. */
  get refusedTypes(): ReadonlySet<string> {
    return this.#ledger.reports.typesSentAlone(MAX_ALONE_PER_TYPE);
  }

  /** True while a statement has no answer. */
  get isSending(): boolean {
    return this.#isSending || this.#keyed.isSending;
  }

  /**
   * How often outcomes have made it worth claiming again: a batch was sent where a claim can follow it, was answered, or
   * failed.
   */
  get effects(): number {
    return this.#effects;
  }

  /** Returns whether there are more effects than these. Waits up to `ms` for one, if a report has none yet. */
  async hasEffectsBeyond(effects: number, ms: number, signal: AbortSignal): Promise<boolean> {
    for (const end = performance.now() + ms; this.#effects === effects && this.#ledger.reporting > 0; ) {
      const waitMs = end - performance.now();
      if (waitMs <= 0 || (await this.#changed.wait(waitMs, signal)) === 'aborted') break;
    }
    return this.#effects > effects;
  }

  /** There is a new report. */
  wake(): void {
    this.#arrived.trigger();
  }

  /** The database answers again: retry failed reports at once. */
  retry(): void {
    if (this.#failures > 0) this.#retry.trigger();
  }

  /** The worker is ending: send every report now, and again every second until it is taken. */
  expedite(): void {
    this.#retryWait.expedite();
    this.retry();
    this.wake();
  }

  /** Report until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([this.notes.run(signal), this.#run(signal)]);
  }

  async #run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const batch = this.#takeBatch();
      if (batch.length === 0) {
        const waitMs = this.#ledger.reports.nextAt - performance.now();
        await this.#arrived.wait(Math.max(1, Math.min(60_000, waitMs)), signal);
      } else if (!(await this.#send(batch, signal))) {
        await this.#retry.wait(backingOffMs(this.#failures, Math.random()), signal);
      }
    }
  }

  #takeBatch(): HeldTask[] {
    let count = 0;
    let alone = 0;
    let length = 0;
    return this.#ledger.reports.take(performance.now(), ({ outcome, delivery }) => {
      if (count >= MAX_BATCH || length >= MAX_BATCH_LENGTH) return false;
      if (delivery?.isAlone && ++alone > MAX_ALONE_PER_BATCH) return false;
      count += 1;
      if (outcome !== null) length += lengthOf(outcome);
      return true;
    });
  }

  /** False: the database could not take all of it now; the rest waits again. */
  async #send(batch: readonly HeldTask[], signal: AbortSignal): Promise<boolean> {
    this.#isSending = true;
    const noted = await this.#noted(batch);
    const { areTaken, hadEffect } =
      noted === undefined ? { areTaken: false, hadEffect: false } : await this.#report(noted, signal);
    this.#isSending = false;
    this.#failures = areTaken ? 0 : this.#failures + 1;
    this.#onAnswered(areTaken && hadEffect && noted?.length === batch.length);
    return areTaken;
  }

  /** Store what the tasks have noted last. Returns those that can be reported; undefined: none, as the notes failed. */
  async #noted(batch: readonly HeldTask[]): Promise<readonly HeldTask[] | undefined> {
    const waitFor = batch.find((held) => isEnded(held) && !waitsForKeys(held) && deservesWait(held))?.id;
    let kept: ReadonlySet<HeldTask> = new Set();
    const areNoted = await this.#tried(batch, async () => {
      kept = await this.notes.recordLast(batch, { waitFor });
    });
    // Do not record these now: if their rows have become free, their notes would be lost.
    for (const held of kept) this.#retryWait.locked(held, vainWaitsOf(held) + (held.id === waitFor ? 1 : 0));
    if (!areNoted) return undefined;
    return kept.size === 0 ? batch : batch.filter((held) => !kept.has(held));
  }

  /** `hadEffect`: claims could follow all of it when it was sent. */
  async #report(
    noted: readonly HeldTask[],
    signal: AbortSignal,
  ): Promise<{ readonly areTaken: boolean; readonly hadEffect: boolean }> {
    const ended = noted.filter(isEnded);
    const released = ended.length === noted.length ? [] : noted.filter((held) => !isEnded(held));
    const keyed = ended.filter(waitsForKeys);
    const outcomes = keyed.length === 0 ? ended : ended.filter((held) => !waitsForKeys(held));
    if (keyed.length > 0) this.#keyed.add(keyed, signal);
    // They are sent before `record` first waits, the pipeline's among them: a claim from now on comes behind.
    const isFollowed = this.#worker.pipeline.canBeFollowed && mayFreeSlots(outcomes);
    const sent = [
      this.#tried(outcomes, () => this.#recorder.record(outcomes, signal)),
      this.#tried(released, () => giveBackTasks(released, this.#givingBack)),
    ];
    if (isFollowed) this.#takeEffect();
    this.#hooks.onSending(outcomes, isFollowed);
    const areTaken = (await Promise.all(sent)).every(Boolean);
    return { areTaken, hadEffect: isFollowed && outcomes.length === noted.length };
  }

  /** `hadEffect`: it had its effect when it was sent. */
  #onAnswered(hadEffect = false): void {
    if (hadEffect) this.#changed.trigger();
    else this.#takeEffect();
    this.#hooks.onSent();
  }

  #takeEffect(): void {
    this.#effects += 1;
    this.#changed.trigger();
  }

  async #tried(batch: readonly HeldTask[], send: () => Promise<void>): Promise<boolean> {
    if (batch.length === 0) return true;
    try {
      await send();
      return true;
    } catch (error) {
      this.#hooks.onStatementFailed(error);
      this.#ledger.reports.requeue(batch);
      return false;
    }
  }
}

function isEnded(held: HeldTask): held is EndedTask {
  return held.outcome !== null;
}

function lengthOf(outcome: Outcome): number {
  const result = ('result' in outcome && outcome.result?.length) || 0;
  if (outcome.kind !== 'completed') return result;
  return result + (outcome.again?.payload?.length ?? 0) + (outcome.followUps?.tasks.length ?? 0);
}
