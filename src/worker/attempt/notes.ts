import type { Progress } from '../../domain/progress.ts';
import type { StoredError } from '../../domain/storable-error.ts';
import type { Note, Warning } from '../../queue/protocol/note.ts';

/** An attempt stores at most this many warnings, and counts the rest. */
const MOST_WARNINGS = 100;

/** What one statement stores of an attempt. */
export type Noted = Pick<Note, 'progress' | 'warnings'>;

/** What a handler has reported while it runs and the database has not stored yet. */
export class Notes {
  #progress: Progress | undefined;
  #warnings: Warning[] = [];
  #warned = 0;
  #isRestCounted = false;

  get isEmpty(): boolean {
    return this.#progress === undefined && this.#warnings.length === 0;
  }

  /** The last one counts. */
  progress(progress: Progress): void {
    this.#progress = progress;
  }

  warn(error: StoredError): void {
    this.#warned += 1;
    if (this.#warned <= MOST_WARNINGS) this.#warnings.push({ n: this.#warned, error });
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

  /** Take what is to be stored now. */
  take(): Noted {
    const noted = { progress: this.#progress, warnings: this.#warnings };
    this.#progress = undefined;
    this.#warnings = [];
    return noted;
  }

  /** It was not stored: take it again, but only the newest progress. */
  putBack({ progress, warnings }: Noted): void {
    this.#progress ??= progress;
    this.#warnings = [...warnings, ...this.#warnings];
  }
}
