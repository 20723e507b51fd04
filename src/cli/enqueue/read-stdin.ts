import { MAX_PAYLOAD_BYTES } from '../../domain/payload.ts';
import { badOption } from '../../lib/bad-option.ts';
import type { Context } from '../run/context.ts';
import { utf8Text } from './utf8-text.ts';

/** Escapes can make a text six times as long as what is stored. */
const MAX_TEXT_BYTES = 8 * MAX_PAYLOAD_BYTES;

/** Read a payload from stdin, to its end. Throws TaskqError (exit 2) for input that is not text, or not a payload. */
export async function readStdin(context: Context): Promise<string> {
  if (process.stdin.isTTY)
    context.output.talk('reading the payload from the terminal; press Ctrl-D to end it');
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_TEXT_BYTES)
      throw badOption('payload: larger than 1 MB', 'to enqueue many tasks use --file -');
  }
  if (bytes === 0) throw badOption('payload: stdin is empty');
  return utf8Text(chunks, 'payload: stdin');
}
