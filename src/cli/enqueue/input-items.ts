import { badOption } from '../../lib/bad-option.ts';
import { type InputItem, MAX_ITEM_BYTES } from './input-item.ts';
import { splitArray } from './split-array.ts';
import { splitLines } from './split-lines.ts';

/**
 * Cut input into items, several at a time: NDJSON by line without blank ones, or a JSON array by element. The input is
 * an array if it begins with `[`, unless its name says NDJSON. The longest item bounds the memory.
 */
export async function* inputItems(input: AsyncIterable<Buffer>, path: string): AsyncGenerator<InputItem[]> {
  const { first, chunks } = await peek(input);
  if (first === 0x5b && !/\.(ndjson|jsonl)$/i.test(path)) yield* splitArray(chunks);
  else yield* splitLines(chunks);
}

/** Find the first byte that is not blank (undefined: none). Also returns the chunks without a byte order mark. */
async function peek(
  input: AsyncIterable<Buffer>,
): Promise<{ first: number | undefined; chunks: AsyncIterable<Buffer> }> {
  const iterator = input[Symbol.asyncIterator]();
  let head = Buffer.alloc(0);
  for (;;) {
    const { done, value } = await iterator.next();
    if (done) break;
    head = Buffer.concat([head, value]);
    if (head.length >= 3 && firstOf(head) !== undefined) break;
    if (head.length > MAX_ITEM_BYTES)
      throw badOption(`--file: expected JSON, but the first ${MAX_ITEM_BYTES} bytes are blank`);
  }
  const text = withoutMark(head);
  return { first: firstOf(text), chunks: chain(text, iterator) };
}

function withoutMark(head: Buffer): Buffer<ArrayBuffer> {
  const start = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf ? 3 : 0;
  return Buffer.from(head.subarray(start));
}

function firstOf(bytes: Buffer): number | undefined {
  return bytes.find((byte) => byte !== 0x20 && byte !== 0x09 && byte !== 0x0a && byte !== 0x0d);
}

async function* chain(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  if (head.length > 0) yield head;
  for (;;) {
    const { done, value } = await rest.next();
    if (done) return;
    yield value;
  }
}
