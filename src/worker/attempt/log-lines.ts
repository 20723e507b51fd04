import { STORABLE_LIMITS, shortBytes, storableText } from '../../domain/storable.ts';
import { storableResult } from '../../domain/storable-result.ts';
import type { Level } from '../../lib/level.ts';
import type { LoggedLine, LoggedLines } from '../../queue/protocol/note.ts';

/** An attempt keeps at most this many lines of its log, the last ones. */
const MOST_LINES = 100;
/** Bytes of a line: of its message, and of its fields in the rest. */
const MAX_LINE_BYTES = 2048;

/** The last lines that a handler has logged in an attempt. Most attempts end with a few of them, and store none. */
export class LogLines {
  /** Line n is at (n - 1) % MOST_LINES. */
  readonly #lines: LoggedLine[];
  #count = 1;

  constructor(first: LoggedLine) {
    this.#lines = [first];
  }

  /** How many lines it has logged. */
  get count(): number {
    return this.#count;
  }

  /** How many of the lines after this many are kept. */
  kept(taken: number): number {
    return Math.min(this.#count - taken, MOST_LINES);
  }

  add(line: LoggedLine): void {
    if (this.#count < MOST_LINES) this.#lines.push(line);
    else this.#lines[this.#count % MOST_LINES] = line;
    this.#count += 1;
  }

  /** The lines after this many, as far as they are kept. */
  after(taken: number): LoggedLines {
    const first = Math.max(taken, this.#count - MOST_LINES) + 1;
    const lines = Array.from(
      { length: this.#count - first + 1 },
      (_, n) => this.#lines[(first - 1 + n) % MOST_LINES]!,
    );
    return { first, lines, trims: taken > 0 };
  }
}

/** A line as it is kept: cut, because 100 of each running attempt stay in memory. */
export function loggedLine(
  level: Level,
  message: string,
  fields: Readonly<Record<string, unknown>>,
): LoggedLine {
  const text =
    message.length > MAX_LINE_BYTES / 4 ? shortBytes(message, MAX_LINE_BYTES) : storableText(message);
  return { at: performance.now(), level, message: text, fields: fieldsOf(fields, text) };
}

/** The fields as they are stored. Most are few and short, cannot change, and stay as they are: few lines are stored. */
function fieldsOf(fields: Readonly<Record<string, unknown>>, message: string): unknown {
  let units = message.length;
  let isPlain = true;
  let isEmpty = true;
  for (const name in fields) {
    isEmpty = false;
    const value = fields[name];
    units += name.length + AROUND_UNITS + (typeof value === 'string' ? value.length : 0);
    isPlain &&= isStorable(name) && isPlainValue(value);
  }
  if (isEmpty) return undefined;
  return isPlain && units <= MAX_LINE_BYTES / MOST_UNIT_BYTES ? fields : judged(fields, message);
}

/** Of a name with its colon and quotes, and a number. */
const AROUND_UNITS = 32;
/** Bytes that JSON needs for a UTF-16 unit at most: `\u0001`. */
const MOST_UNIT_BYTES = 6;

function isPlainValue(value: unknown): boolean {
  return typeof value === 'string'
    ? isStorable(value)
    : Number.isFinite(value) || typeof value === 'boolean' || value === null;
}

function isStorable(text: string): boolean {
  return storableText(text) === text;
}

function judged(fields: Readonly<Record<string, unknown>>, message: string): unknown {
  const room = Math.max(MAX_LINE_BYTES - Buffer.byteLength(message), 3);
  const { json, note } = storableResult(fields, { ...STORABLE_LIMITS, resultBytes: room });
  return json === null ? shortBytes(`${note?.head ?? ''}…`, room) : JSON.parse(json);
}
