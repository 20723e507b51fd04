import type { Progress } from '../../domain/progress.ts';
import type { StoredError } from '../../domain/storable-error.ts';
import type { Note, Warning } from '../../queue/protocol/note.ts';
import type { LogLines } from './log-lines.ts';

/** An attempt stores at most this many warnings, and counts the rest. */
const MOST_WARNINGS = 100;

/** In KB: a line has up to 2 KB of text, an error up to 16. */
const LINE_WEIGHT = 2;
const WARNING_WEIGHT = 16;

/** What one statement stores for an attempt. */
export type Noted = Pick<Note, 'progress' | 'warnings' | 'log'>;

/** What a handler has reported while it runs and the database has not stored yet. */
export class Notes {
  /** How often the outcome has waited for them. */
  waits = 0;
  #progress: Progress | undefined;
  #warnings: Warning[] = [];
  #warned = 0;
  #isRestCounted = false;
  /** Its log, if that is stored. */
  #log: LogLines | undefined;
  /** How many lines of it have been taken. */
  #linesTaken = 0;

  get isEmpty(): boolean {
    return this.#progress === undefined && this.#warnings.length === 0 && !this.#hasLines;
  }

  /** About how many KB it has to store at most. */
  get weight(): number {
    const lines = this.#hasLines ? this.#log!.kept(this.#linesTaken) : 0;
    return 1 + LINE_WEIGHT * lines + WARNING_WEIGHT * this.#warnings.length;
  }

  /** The last one counts. */
  progress(progress: Progress): void {
    this.#progress = progress;
  }

  warn(error: StoredError): void {
    this.#warned += 1;
    if (this.#warned <= MOST_WARNINGS) this.#warnings.push({ n: this.#warned, error });
  }

  /** Store the lines of this log from now on; undefined: no longer store lines. */
  storeLog(log: LogLines | undefined): void {
    this.#log = log;
  }

  /** The attempt has ended: count the warnings that are not stored in one more. */
  end(): void {
    const rest = this.#warned - MOST_WARNINGS;
    if (rest <= 0 || this.#isRestCounted) return;
    this.#isRestCounted = true;
    const message = `${rest} more ${rest === 1 ? 'warning' : 'warnings'}, not stored`;
    const error = { name: 'Warnings', message, stack: null, code: null, cause: null };
    this.#warnings.push({ n: MOST_WARNINGS + 1, error });
  }

  /** Take what must be stored now. */
  take(): Noted {
    const noted = {
      progress: this.#progress,
      warnings: this.#warnings,
      log: this.#hasLines ? this.#log!.after(this.#linesTaken) : undefined,
    };
    this.#progress = undefined;
    this.#warnings = [];
    if (this.#log !== undefined) this.#linesTaken = this.#log.count;
    return noted;
  }

  /** The notes were not stored: take them again, but only the newest progress. */
  putBack({ progress, warnings, log }: Noted): void {
    this.#progress ??= progress;
    this.#warnings = [...warnings, ...this.#warnings];
    if (log !== undefined) this.#linesTaken = log.first - 1;
  }

  get #hasLines(): boolean {
    return this.#log !== undefined && this.#log.count > this.#linesTaken;
  }
}
