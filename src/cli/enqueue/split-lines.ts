import { isUtf8 } from 'node:buffer';
import { type InputItem, MAX_ITEM_BYTES } from './input-item.ts';

const NEWLINE = 0x0a;

/**
 * Cut bytes into lines of text, those of each chunk together. Counts blank lines but leaves them out, and keeps no text
 * of a line that is too long.
 */
export async function* splitLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<InputItem[]> {
  let line = 0;
  /** The line that continues in the next chunk. */
  let begun: Buffer[] = [];
  let begunBytes = 0;
  const begin = (bytes: Buffer) => {
    begunBytes += bytes.length;
    if (begunBytes > MAX_ITEM_BYTES) begun = [];
    else if (bytes.length > 0) begun.push(bytes);
  };
  const finish = (end: Buffer): InputItem[] => {
    begin(end);
    const isLong = begunBytes > MAX_ITEM_BYTES;
    const texts = isLong ? [TOO_LONG] : textsOf(begun.length === 1 ? begun[0]! : Buffer.concat(begun));
    begun = [];
    begunBytes = 0;
    return itemsOf(texts);
  };
  const itemsOf = (texts: readonly (string | Unreadable)[]): InputItem[] => {
    const items: InputItem[] = [];
    for (const text of texts) {
      line += 1;
      const place = { kind: 'line', number: line, line, column: 1 } as const;
      if (typeof text !== 'string') items.push({ ...place, text: null, problem: text.problem });
      else if (text.trim() !== '') items.push({ ...place, text });
    }
    return items;
  };
  for await (const chunk of chunks) {
    const [first, last] = [chunk.indexOf(NEWLINE), chunk.lastIndexOf(NEWLINE)];
    const begunBefore = first === -1 ? [] : finish(chunk.subarray(0, first));
    // Decode all lines together: decoding a million one by one takes twice as long.
    const whole = last > first ? itemsOf(textsOf(chunk.subarray(first + 1, last))) : [];
    begin(chunk.subarray(last + 1));
    if (begunBefore.length + whole.length > 0) yield [...begunBefore, ...whole];
  }
  const last = begunBytes > 0 ? finish(Buffer.alloc(0)) : [];
  if (last.length > 0) yield last;
}

interface Unreadable {
  readonly problem: string;
}

const TOO_LONG: Unreadable = { problem: `longer than ${MAX_ITEM_BYTES} bytes` };
const NOT_TEXT: Unreadable = { problem: 'not UTF-8 text' };

/** Decode whole lines, without the end of the last one. */
function textsOf(lines: Buffer): (string | Unreadable)[] {
  if (isUtf8(lines)) return lines.toString('utf8').split('\n');
  const texts: (string | Unreadable)[] = [];
  for (let from = 0; from <= lines.length; ) {
    const end = lines.indexOf(NEWLINE, from);
    const line = lines.subarray(from, end === -1 ? lines.length : end);
    texts.push(isUtf8(line) ? line.toString('utf8') : NOT_TEXT);
    from += line.length + 1;
  }
  return texts;
}
