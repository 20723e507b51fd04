import { types } from 'node:util';
import { ExactNumber } from '../lib/exact-json.ts';
import { messageOf } from '../lib/thrown.ts';
import { STORABLE_LIMITS, type StorableLimits, shortText, storableText } from './storable.ts';

/** What is kept of a result that could not be stored. */
export interface ResultNote {
  /** Bytes of its JSON text, or of the part that was examined; null if size was not the problem. */
  readonly bytes: number | null;
  /** The beginning of its JSON text; may be empty. */
  readonly head: string;
  readonly reason: string;
}

export interface StorableResult {
  /** JSON text; null if there is none or it cannot be stored. */
  readonly json: string | null;
  /** Null if nothing was left out. */
  readonly note: ResultNote | null;
}

/**
 * Converts what a handler returned to JSON text that PostgreSQL's jsonb accepts. Works like JSON.stringify, except that
 * a BigInt becomes a decimal string and NUL characters and lone surrogates become U+FFFD. A value that is circular, too
 * deep, too large or throws when read gives null with a note; `undefined` gives null without one. Examines at most a
 * million values and 1 GiB of text. Never throws.
 */
export function storableResult(value: unknown, limits: StorableLimits = STORABLE_LIMITS): StorableResult {
  if (value === undefined) return { json: null, note: null };
  const writer = new JsonWriter(limits);
  try {
    writer.write(value);
    return writer.finish();
  } catch (error) {
    const reason = error instanceof Refusal ? error.reason : `reading it threw ${messageOf(error)}`;
    return writer.refuse(shortText(reason, MAX_REASON));
  }
}

const HEAD_LENGTH = 500;
const MAX_REASON = 500;
const MAX_VALUES = 1_000_000;
const MAX_COUNTED_BYTES = 1024 ** 3;
/** Printing a larger BigInt would take seconds. */
const MAX_BIGINT_BITS = 65_536;

/** Thrown to unwind the writer. */
class Refusal {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** Writes JSON text that stops growing at the limit, but keeps counting. */
class JsonWriter {
  readonly #limits: StorableLimits;
  readonly #ancestors: object[] = [];
  #text = '';
  #bytes = 0;
  #values = 0;

  constructor(limits: StorableLimits) {
    this.#limits = limits;
  }

  write(value: unknown): void {
    const plain = this.#plain(value, '');
    if (!hasJson(plain)) throw new Refusal(`it has no JSON form (${typeof plain})`);
    this.#write(plain);
  }

  finish(): StorableResult {
    if (this.#bytes <= this.#limits.resultBytes) return { json: this.#text, note: null };
    return this.refuse(this.#tooLarge());
  }

  refuse(reason: string): StorableResult {
    const bytes = this.#bytes > this.#limits.resultBytes ? this.#bytes : null;
    return { json: null, note: { bytes, head: storableText(this.#text.slice(0, HEAD_LENGTH)), reason } };
  }

  #write(plain: unknown): void {
    if (typeof plain === 'string') this.#string(plain);
    else if (typeof plain === 'number') this.#emit(Number.isFinite(plain) ? String(plain) : 'null');
    else if (typeof plain !== 'object' || plain === null || plain instanceof ExactNumber)
      this.#emit(String(plain));
    else this.#container(plain);
  }

  #container(container: object): void {
    if (this.#ancestors.includes(container)) throw new Refusal('it is circular');
    if (this.#ancestors.length >= this.#limits.depth) {
      throw new Refusal(`nested deeper than ${this.#limits.depth} levels`);
    }
    this.#ancestors.push(container);
    if (Array.isArray(container)) this.#array(container);
    else this.#object(container as Record<string, unknown>);
    this.#ancestors.pop();
  }

  #array(array: readonly unknown[]): void {
    this.#emit('[');
    for (let index = 0; index < array.length; index += 1) {
      if (index > 0) this.#emit(',');
      const plain = this.#plain(array[index], String(index));
      this.#write(hasJson(plain) ? plain : null);
    }
    this.#emit(']');
  }

  #object(object: Record<string, unknown>): void {
    this.#emit('{');
    let isFirst = true;
    for (const name of Object.keys(object)) {
      const plain = this.#plain(object[name], name);
      if (!hasJson(plain)) continue;
      if (!isFirst) this.#emit(',');
      isFirst = false;
      this.#string(name);
      this.#emit(':');
      this.#write(plain);
    }
    this.#emit('}');
  }

  /** Returns the value that JSON.stringify would write in place of this one. */
  #plain(value: unknown, name: string): unknown {
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw new Refusal(`more than ${MAX_VALUES} values`);
    if (typeof value === 'bigint') return digitsOf(value);
    if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value;
    // Checked before toJSON: a Buffer's would create an array of all its bytes.
    if (ArrayBuffer.isView(value) && value.byteLength > this.#limits.resultBytes) {
      this.#bytes += value.byteLength;
      throw new Refusal(this.#tooLarge());
    }
    const { toJSON } = value as { toJSON?: unknown };
    const json: unknown = typeof toJSON === 'function' ? toJSON.call(value, name) : value;
    return typeof json === 'bigint' ? digitsOf(json) : unboxed(json);
  }

  #string(text: string): void {
    const isCounted = this.#bytes > this.#limits.resultBytes || text.length > this.#limits.resultBytes;
    if (!isCounted) this.#emit(JSON.stringify(storableText(text)));
    else {
      const head = storableText(text.slice(0, HEAD_LENGTH));
      if (this.#text.length < HEAD_LENGTH) this.#text += JSON.stringify(head);
      this.#count(Buffer.byteLength(text) + 2);
    }
  }

  #emit(piece: string): void {
    if (this.#bytes <= this.#limits.resultBytes || this.#text.length < HEAD_LENGTH) this.#text += piece;
    this.#count(Buffer.byteLength(piece));
  }

  #count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > MAX_COUNTED_BYTES) throw new Refusal(this.#tooLarge());
  }

  #tooLarge(): string {
    return `larger than ${this.#limits.resultBytes} bytes`;
  }
}

function hasJson(plain: unknown): boolean {
  return plain !== undefined && typeof plain !== 'function' && typeof plain !== 'symbol';
}

function digitsOf(value: bigint): string {
  if (BigInt.asIntN(MAX_BIGINT_BITS, value) !== value) {
    throw new Refusal(`a BigInt of more than ${MAX_BIGINT_BITS} bits`);
  }
  return String(value);
}

function unboxed(value: unknown): unknown {
  if (types.isNumberObject(value)) return Number(value);
  if (types.isStringObject(value)) return String(value);
  if (types.isBooleanObject(value)) return Boolean.prototype.valueOf.call(value);
  if (types.isBigIntObject(value)) return digitsOf(BigInt.prototype.valueOf.call(value));
  return value;
}
