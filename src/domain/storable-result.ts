import { types } from 'node:util';
import { ExactNumber } from '../lib/exact-json.ts';
import { STORABLE_LIMITS, type StorableLimits, shortText, storableText } from './storable.ts';
import { messageOf } from './thrown.ts';

/** What is kept of a result that could not be stored. */
export interface ResultNote {
  /** Size of its JSON text, or of as much as was looked at; null when its size was not what kept it out. */
  readonly bytes: number | null;
  /** The beginning of its JSON text; may be empty. */
  readonly head: string;
  readonly reason: string;
}

export interface StorableResult {
  /** JSON text, or null when there is none or it cannot be stored. */
  readonly json: string | null;
  /** Null when nothing was left out. */
  readonly note: ResultNote | null;
}

/**
 * Write what a handler returned as JSON text that PostgreSQL's jsonb takes: as JSON.stringify does, but a BigInt is
 * written as a decimal string, NUL characters and lone surrogates become U+FFFD, and what is circular, too deep,
 * too large or throws when read gives null with a note. `undefined` is null without a note. Never throws; looks at
 * no more than a million values and 1 GiB of text.
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
/** A larger BigInt would take seconds to print. */
const MAX_BIGINT_BITS = 65_536;

/** Unwinds the writer. */
class Refusal {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** JSON text that stops growing at the limit, and goes on counting. */
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

  /** The value that JSON.stringify would write in the place of this one. */
  #plain(value: unknown, name: string): unknown {
    this.#values += 1;
    if (this.#values > MAX_VALUES) throw new Refusal(`more than ${MAX_VALUES} values`);
    if (typeof value === 'bigint') return digitsOf(value);
    if (typeof value !== 'object' || value === null || value instanceof ExactNumber) return value;
    // Before toJSON: a Buffer's would make an array of all its bytes.
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
