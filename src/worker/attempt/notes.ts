import type { Progress } from '../../domain/progress.ts';
import { STORABLE_LIMITS, shortBytes, storableText } from '../../domain/storable.ts';
import type { StoredError } from '../../domain/storable-error.ts';
import { storableResult } from '../../domain/storable-result.ts';
import type { Level } from '../../lib/level.ts';
import type { LoggedLine, Note, Warning } from '../../queue/protocol/note.ts';

/** An attempt stores at most this many warnings, and counts the rest. */
const MOST_WARNINGS = 100;

/** It keeps at most this many lines of its log, the last ones. */
const MOST_LINES = 100;
/** Bytes of a line: of its message, and of its fields in the rest. */
const MAX_LINE_BYTES = 2048;

/** What one statement stores of an attempt. */
export type Noted = Pick<Note, 'progress' | 'warnings' | 'log'>;

/** What a handler has reported while it runs and the database has not stored yet. */
export class Notes {
  #progress: Progress | undefined;
  #warnings: Warning[] = [];
  #warned = 0;
  #isRestCounted = false;
  /** The last lines, not in order: line n is at n % MOST_LINES. */
  readonly #lines: LoggedLine[] = [];
  #logged = 0;
  /** The last line that has been taken. */
  #loggedTaken = 0;
  #isLogKept = false;
  #isFollowed = false;

  get isEmpty(): boolean {
    return this.#progress === undefined && this.#warnings.length === 0 && !this.#hasLog;
  }

  /** The last one counts. */
  progress(progress: Progress): void {
    this.#progress = progress;
  }

  warn(error: StoredError): void {
    this.#warned += 1;
    if (this.#warned <= MOST_WARNINGS) this.#warnings.push({ n: this.#warned, error });
  }

  /** A line of its log, of which only the last ones are kept in memory. */
  log(level: Level, message: string, fields: Readonly<Record<string, unknown>>): void {
    this.#logged += 1;
    this.#lines[this.#logged % MOST_LINES] = lineOf(level, message, fields);
  }

  /** Whether someone follows its log: then lines are stored as they come. */
  follow(isFollowed: boolean): void {
    this.#isFollowed = isFollowed;
  }

  /** The attempt has ended: count the warnings that are not stored in one more, and store its log if it is kept. */
  end({ keepLog }: { readonly keepLog: boolean }): void {
    if (keepLog) this.#isLogKept = true;
    const rest = this.#warned - MOST_WARNINGS;
    if (rest <= 0 || this.#isRestCounted) return;
    this.#isRestCounted = true;
    const message = `${rest} more ${rest === 1 ? 'warning' : 'warnings'}, not stored`;
    const error = { name: 'Warnings', message, stack: null, code: null, cause: null };
    this.#warnings.push({ n: MOST_WARNINGS + 1, error });
  }

  /** Take what is to be stored now. */
  take(): Noted {
    const noted = { progress: this.#progress, warnings: this.#warnings, log: this.#takeLog() };
    this.#progress = undefined;
    this.#warnings = [];
    return noted;
  }

  /** It was not stored: take it again, but only the newest progress. */
  putBack({ progress, warnings, log }: Noted): void {
    if (log !== undefined) this.#loggedTaken = log.first - 1;
    this.#progress ??= progress;
    this.#warnings = [...warnings, ...this.#warnings];
  }

  get #hasLog(): boolean {
    return (this.#isLogKept || this.#isFollowed) && this.#logged > this.#loggedTaken;
  }

  #takeLog(): Noted['log'] {
    if (!this.#hasLog) return undefined;
    const first = Math.max(this.#loggedTaken, this.#logged - MOST_LINES) + 1;
    const trims = this.#loggedTaken > 0;
    const lines: LoggedLine[] = [];
    for (let n = first; n <= this.#logged; n++) lines.push(this.#lines[n % MOST_LINES]!);
    this.#loggedTaken = this.#logged;
    return { first, lines, trims };
  }
}

/** Cut where it is kept: up to 100 lines of each running attempt stay in memory. */
function lineOf(level: Level, message: string, fields: Readonly<Record<string, unknown>>): LoggedLine {
  const text =
    message.length > MAX_LINE_BYTES / 4 ? shortBytes(message, MAX_LINE_BYTES) : storableText(message);
  return { at: performance.now(), level, message: text, fields: fieldsOf(fields, text) };
}

function fieldsOf(fields: Readonly<Record<string, unknown>>, message: string): unknown {
  for (const _ in fields) {
    const room = MAX_LINE_BYTES - Buffer.byteLength(message);
    const { json, note } = storableResult(fields, { ...STORABLE_LIMITS, resultBytes: Math.max(room, 2) });
    return json === null ? shortBytes(`${note?.head ?? ''}…`, Math.max(room, 3)) : JSON.parse(json);
  }
  return undefined;
}
