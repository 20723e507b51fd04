import { badOption } from '../../lib/bad-option.ts';

/** The text that was read. Throws TaskqError `bad_option`, which names where it came from, if it is not UTF-8. */
export function utf8Text(chunks: readonly Buffer[], source: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw badOption(`${source} is not UTF-8 text`);
  }
}
