import type { Outcome } from '../../domain/outcome.ts';
import type { Progress } from '../../domain/progress.ts';
import type { StoredError } from '../../domain/storable-error.ts';
import { leaseKey } from '../../domain/task.ts';
import type { Level } from '../../lib/level.ts';
import { SerialQueue } from '../../lib/serial-queue.ts';
import { Wakeup } from '../../lib/wakeup.ts';
import { note } from '../../queue/protocol/note.ts';
import { LogLines, loggedLine } from '../attempt/log-lines.ts';
import { type Noted, Notes } from '../attempt/notes.ts';
import type { HeldTask, StartedTask } from '../lease/held-task.ts';
import type { ReportingWorker } from '../lease/registered-worker.ts';
import { classifyRefusal } from './classify-refusal.ts';

export interface NoteHooks {
  /** The database refuses the notes of this task; they are dropped. */
  readonly onNoteRefused: (held: HeldTask, refusal: string) => void;
  readonly onStatementFailed: (error: unknown) => void;
  /** Whether the log of a task that completes is kept. */
  readonly keepsLogOf: (type: string) => boolean;
}

/** Notes of all tasks are stored this often at most. */
const EVERY_MS = 1000;
/** An outcome waits this often for notes that another transaction keeps from being stored. */
const MOST_WAITS = 4;
const NONE: ReadonlySet<HeldTask> = new Set();
/** Tasks in one statement. */
const MOST_TASKS = 500;
/** And KB, about: the server takes a quarter of a second for 1 MB. */
const MOST_WEIGHT = 4000;

/**
 * Stores what running tasks report: all of them in one statement, once a second at most, and what is left of a task
 * just before its outcome. Statements follow one another, so that an older progress never replaces a newer one. Without
 * notes it sends nothing.
 */
export class NoteRecorder {
  readonly #worker: ReportingWorker;
  readonly #hooks: NoteHooks;
  readonly #serial = new SerialQueue();
  readonly #arrived = new Wakeup();
  /** Tasks with something to store, or in the statement in flight. */
  readonly #unstored = new Set<HeldTask>();
  /** Tasks whose last statement got no usable answer: it may have stored their notes. */
  readonly #unanswered = new WeakSet<HeldTask>();
  /** Ids of tasks whose logs someone follows. */
  #followed: ReadonlySet<string> = new Set();

  constructor(worker: ReportingWorker, hooks: NoteHooks) {
    this.#worker = worker;
    this.#hooks = hooks;
  }

  progress(held: StartedTask, progress: Progress): void {
    this.#notesOf(held)?.progress(progress);
  }

  warn(held: StartedTask, error: StoredError): void {
    this.#notesOf(held)?.warn(error);
  }

  /** A line of its log: kept in memory, and stored only when the attempt does not complete, or someone follows. */
  log(held: StartedTask, level: Level, message: string, fields: Readonly<Record<string, unknown>>): void {
    if (!isNoting(held)) return;
    const { attempt } = held;
    const line = loggedLine(level, message, fields);
    if (attempt.log === undefined) attempt.log = new LogLines(line);
    else attempt.log.add(line);
    if (this.#followed.size > 0 && this.#followed.has(held.id)) this.#notesOf(held)?.storeLog(attempt.log);
  }

  /**
   * The attempt has its outcome: drop a log that will not be stored. If kept until the outcome is recorded, the lines
   * of thousands of attempts would outlive the young generation of the heap. An outcome with follow-ups may still be
   * refused.
   */
  ended(held: StartedTask): void {
    const { attempt, outcome } = held;
    if (attempt.log === undefined || this.#storesLogOf(held, outcome)) return;
    if (outcome?.kind === 'completed' && outcome.followUps === undefined) attempt.log = undefined;
  }

  /** Someone follows the logs of these tasks from now on, and of no others. */
  follow(ids: readonly string[], started: readonly StartedTask[]): void {
    if (ids.length === 0 && this.#followed.size === 0) return;
    this.#followed = new Set(ids);
    for (const held of started) {
      if (this.#followed.has(held.id)) this.#notesOf(held)?.storeLog(held.attempt.log);
      else held.attempt.notes?.storeLog(undefined);
    }
  }

  /** Store notes once a second until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const pause = new Wakeup();
    while (!signal.aborted) {
      if (this.#unstored.size === 0) await this.#arrived.wait(60_000, signal);
      else {
        await this.#record([...this.#unstored], {}).catch(this.#hooks.onStatementFailed);
        await pause.wait(EVERY_MS, signal);
      }
    }
  }

  /**
   * Store what is left of tasks whose outcomes come next (`outcome`, if they do not have it yet); `waitFor` as in
   * `settle`. Returns those whose notes another transaction blocked: their outcomes should wait. Throws if the database
   * does not answer, but only once for the same notes, because notes may not delay an outcome for long.
   */
  async recordLast(
    ended: readonly HeldTask[],
    { waitFor, outcome }: { readonly waitFor?: string | undefined; readonly outcome?: Outcome } = {},
  ): Promise<ReadonlySet<HeldTask>> {
    const some = ended.filter((held) => this.#hasLeft(held, outcome ?? held.outcome));
    if (some.length === 0) return NONE;
    const isSecond = some.some((held) => this.#unanswered.has(held));
    try {
      await this.#record(some, { waitFor });
    } catch (error) {
      if (!isSecond) throw error;
      this.#hooks.onStatementFailed(error);
      return NONE;
    }
    return new Set(some.filter(waitsOnceMore));
  }

  /** End the notes of a task, and return whether some are left to store or in flight. */
  #hasLeft(held: HeldTask, outcome: Outcome | null): boolean {
    const { attempt } = held;
    if (attempt === undefined) return false;
    if (attempt.log !== undefined && this.#storesLogOf(held, outcome)) {
      attempt.notes ??= new Notes();
      attempt.notes.storeLog(attempt.log);
    }
    attempt.notes?.end();
    return attempt.notes?.isEmpty === false || this.#unstored.has(held);
  }

  #storesLogOf({ id, task }: HeldTask, outcome: Outcome | null): boolean {
    return outcome?.kind !== 'completed' || this.#followed.has(id) || this.#hooks.keepsLogOf(task.type);
  }

  /** Undefined: the attempt has ended, and stores nothing more. */
  #notesOf(held: StartedTask): Notes | undefined {
    if (!isNoting(held)) return undefined;
    held.attempt.notes ??= new Notes();
    if (this.#unstored.size === 0) this.#arrived.trigger();
    this.#unstored.add(held);
    return held.attempt.notes;
  }

  #record(tasks: readonly HeldTask[], { waitFor }: { readonly waitFor?: string | undefined }): Promise<void> {
    const send = (part: readonly HeldTask[]) =>
      this.#send(part, part.some(({ id }) => id === waitFor) ? waitFor : undefined);
    return this.#serial.run(async () => {
      let part: HeldTask[] = [];
      let weight = 0;
      for (const held of tasks) {
        const its = held.attempt?.notes?.weight ?? 0;
        if (part.length === MOST_TASKS || (part.length > 0 && weight + its > MOST_WEIGHT)) {
          await send(part);
          [part, weight] = [[], 0];
        }
        part.push(held);
        weight += its;
      }
      if (part.length > 0) await send(part);
    });
  }

  async #send(tasks: readonly HeldTask[], waitFor: string | undefined): Promise<void> {
    const sent = tasks.flatMap((held) => {
      const notes = held.attempt?.notes;
      if (notes === undefined || notes.isEmpty || held.state === 'gone') return [];
      return { held, notes, noted: notes.take() };
    });
    try {
      if (sent.length > 0) await this.#store(sent, waitFor);
    } catch (error) {
      const isTransient = classifyRefusal(error) === 'transient';
      for (const { held, notes, noted } of isTransient ? sent : []) {
        this.#unanswered.add(held);
        notes.putBack(noted);
      }
      if (isTransient) throw error;
      this.#hooks.onStatementFailed(error);
    } finally {
      for (const held of tasks)
        if (held.state === 'gone' || held.attempt?.notes?.isEmpty !== false) this.#unstored.delete(held);
    }
  }

  async #store(sent: readonly Sent[], waitFor: string | undefined): Promise<void> {
    const { db, workerId } = this.#worker;
    const isRepeat = sent.some(({ held }) => this.#unanswered.has(held));
    const asked = sent.map(({ held: { id, leaseNo }, noted }) => ({ id, leaseNo, ...noted }));
    const answers = await note(db, workerId, asked, { isRepeat, waitFor });
    const byLease = new Map(answers.map((one) => [leaseKey(one), one]));
    for (const { held, notes, noted } of sent) {
      const { answer, refusal = null } = byLease.get(leaseKey(held)) ?? {};
      this.#unanswered.delete(held);
      if (answer === 'busy') notes.putBack(noted);
      if (refusal !== null) this.#hooks.onNoteRefused(held, refusal);
    }
  }
}

/** What an attempt reports after its end, or after its lease was lost, is not stored. */
function isNoting(held: StartedTask): boolean {
  return held.state === 'running' && held.attempt.aborted !== 'lost';
}

/** Let its outcome wait once more for notes that are not stored yet. False: there are none, or it has waited too often. */
function waitsOnceMore({ state, attempt }: HeldTask): boolean {
  const notes = attempt?.notes;
  if (state === 'gone' || notes === undefined || notes.isEmpty) return false;
  notes.waits += 1;
  return notes.waits <= MOST_WAITS;
}

/** A task whose notes are in a statement. */
interface Sent {
  readonly held: HeldTask;
  readonly notes: Notes;
  readonly noted: Noted;
}
