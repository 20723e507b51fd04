import { isUtf8 } from 'node:buffer';
import type { InputItem } from './input-items.ts';

/**
 * Cut bytes into the lines of a text, those of each chunk together; blank ones are counted and left out. A line of
 * more than `maxBytes` is named and its text not kept.
 */
export async function* splitLines(
  chunks: AsyncIterable<Buffer>,
  maxBytes: number,
): AsyncGenerator<InputItem[]> {
  let line = 0;
  let begun: Buffer[] = [];
  let begunBytes = 0;
  const finish = (last: Buffer): InputItem | null => {
    line += 1;
    const isLong = begunBytes + last.length > maxBytes;
    const bytes = isLong ? null : begun.length === 0 ? last : Buffer.concat([...begun, last]);
    begun = [];
    begunBytes = 0;
    return bytes === null ? unreadable(line, `longer than ${maxBytes} bytes`) : itemOf(line, bytes);
  };
  for await (const chunk of chunks) {
    const items: InputItem[] = [];
    let from = 0;
    for (let at = chunk.indexOf(0x0a); at !== -1; at = chunk.indexOf(0x0a, from)) {
      const item = finish(chunk.subarray(from, at));
      if (item !== null) items.push(item);
      from = at + 1;
    }
    const rest = chunk.subarray(from);
    begunBytes += rest.length;
    if (begunBytes > maxBytes) begun = [];
    else if (rest.length > 0) begun.push(rest);
    if (items.length > 0) yield items;
  }
  const last = begunBytes > 0 ? finish(Buffer.alloc(0)) : null;
  if (last !== null) yield [last];
}

/** Null for a blank line. */
function itemOf(line: number, bytes: Buffer): InputItem | null {
  if (!isUtf8(bytes)) return unreadable(line, 'not UTF-8 text');
  const text = bytes.toString('utf8');
  return text.trim() === '' ? null : { name: `line ${line}`, line, column: 1, text };
}

function unreadable(line: number, problem: string): InputItem {
  return { name: `line ${line}`, line, column: 1, text: null, problem };
}
