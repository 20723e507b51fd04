import { constants } from 'node:buffer';
import { badOption } from '../../lib/bad-option.ts';

/**
 * The text that was read. Throws TaskqError `bad_option`, which names where it came from, if it is not UTF-8, or too long
 * for a string.
 */
export function utf8Text(chunks: readonly Buffer[], source: string): string {
  const bytes = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
  if (bytes > constants.MAX_STRING_LENGTH) throw badOption(`${source} is larger than 512 MB`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw badOption(`${source} is not UTF-8 text`);
  }
}
