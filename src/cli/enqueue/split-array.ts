import { isUtf8 } from 'node:buffer';
import { TaskqError } from '../../lib/errors.ts';
import { type InputItem, MAX_ITEM_BYTES } from './input-item.ts';

/**
 * Cut the bytes of a JSON array into its elements, those of each chunk together. Reads only strings and brackets within
 * an element. Throws TaskqError `bad_json` (exit 2) where the array itself is broken.
 */
export async function* splitArray(chunks: AsyncIterable<Buffer>): AsyncGenerator<InputItem[]> {
  const cutter = new ArrayCutter();
  for await (const chunk of chunks) {
    const items = cutter.take(chunk);
    if (items.length > 0) yield items;
  }
  cutter.end();
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const BACKSLASH = 0x5c;
const NEWLINE = 0x0a;
const END_OF_ARRAY = 0x5d;

type Step = 'array begins' | 'element ends' | 'array ends' | 'goes on';

/** The position in the array. Chunks may end anywhere. */
class ArrayCutter {
  /** Open brackets, the array's own included. */
  #depth = 0;
  #state: 'before' | 'inside' | 'after' = 'before';
  #string: 'none' | 'inside' | 'escape' = 'none';
  #count = 0;
  /** The element so far; an element that is too long is counted, not kept. */
  #parts: Buffer[] = [];
  #bytes = 0;
  /** Where the element begins; undefined before its first byte that is not blank. */
  #start: { readonly line: number; readonly column: number } | undefined;
  #line = 1;
  #column = 0;

  take(chunk: Buffer): InputItem[] {
    const items: InputItem[] = [];
    let from = 0;
    for (let at = 0; at < chunk.length; at += 1) {
      const byte = chunk[at]!;
      this.#column += 1;
      const step = this.#step(byte);
      if (step === 'element ends' || step === 'array ends') {
        this.#keep(chunk.subarray(from, at));
        // `[]` has no element.
        if (step === 'element ends' || this.#count > 0 || this.#start !== undefined)
          items.push(this.#finish());
      }
      if (step !== 'goes on') from = at + 1;
      if (byte === NEWLINE) {
        this.#line += 1;
        this.#column = 0;
      }
    }
    if (this.#state === 'inside') this.#keep(chunk.subarray(from));
    return items;
  }

  end(): void {
    if (this.#state !== 'after') throw broken(this.#line, this.#column + 1, 'the array does not end');
  }

  #step(byte: number): Step {
    if (this.#string !== 'none') return this.#stepInString(byte);
    if (isBlank(byte)) return 'goes on';
    if (this.#state === 'before') {
      this.#state = 'inside';
      this.#depth = 1;
      return 'array begins';
    }
    if (this.#state === 'after') {
      throw broken(
        this.#line,
        this.#column,
        'expected the end after the array',
        'NDJSON whose lines are arrays has a name that ends in .ndjson',
      );
    }
    return this.#stepInside(byte);
  }

  #stepInside(byte: number): Step {
    if (byte === COMMA && this.#depth === 1) return 'element ends';
    if (isClosing(byte)) {
      this.#depth -= 1;
      if (this.#depth > 0) return 'goes on';
      if (byte !== END_OF_ARRAY) throw broken(this.#line, this.#column, 'expected "," or "]", found "}"');
      this.#state = 'after';
      return 'array ends';
    }
    this.#start ??= { line: this.#line, column: this.#column };
    if (byte === QUOTE) this.#string = 'inside';
    if (isOpening(byte)) this.#depth += 1;
    return 'goes on';
  }

  #stepInString(byte: number): Step {
    if (this.#string === 'escape') this.#string = 'inside';
    else if (byte === BACKSLASH) this.#string = 'escape';
    else if (byte === QUOTE) this.#string = 'none';
    return 'goes on';
  }

  #keep(bytes: Buffer): void {
    this.#bytes += bytes.length;
    if (this.#bytes > MAX_ITEM_BYTES) this.#parts = [];
    else if (bytes.length > 0) this.#parts.push(bytes);
  }

  #finish(): InputItem {
    this.#count += 1;
    const { line, column } = this.#start ?? { line: this.#line, column: this.#column };
    const bytes = Buffer.concat(this.#parts);
    const about = { kind: 'item', number: this.#count, line, column } as const;
    const isLong = this.#bytes > MAX_ITEM_BYTES;
    this.#parts = [];
    this.#bytes = 0;
    this.#start = undefined;
    if (isLong) return { ...about, text: null, problem: `longer than ${MAX_ITEM_BYTES} bytes` };
    if (!isUtf8(bytes)) return { ...about, text: null, problem: 'not UTF-8 text' };
    return { ...about, text: bytes.toString('utf8').trim() };
  }
}

function isBlank(byte: number): boolean {
  return byte === 0x20 || byte === 0x09 || byte === NEWLINE || byte === 0x0d;
}

function isOpening(byte: number): boolean {
  return byte === 0x5b || byte === 0x7b;
}

function isClosing(byte: number): boolean {
  return byte === END_OF_ARRAY || byte === 0x7d;
}

function broken(line: number, column: number, what: string, hint?: string): TaskqError {
  return new TaskqError('bad_json', `invalid JSON at line ${line}, column ${column}: ${what}`, {
    ...(hint !== undefined && { hint }),
  });
}
