import { inspect } from 'node:util';
import { shortBytes } from './storable.ts';

/** How far a task has come, as its handler reports it. */
export interface Progress {
  /** A share from 0 to 1, or any other measure. */
  readonly value: number;
  readonly text: string | null;
}

const MAX_TEXT_BYTES = 1024;

/**
 * Checks what a handler reports; cuts a text over 1 KB. Throws TypeError if the value is not a number, or the text not
 * a string.
 */
export function progressOf(value: unknown, text: unknown = null): Progress {
  if (typeof value !== 'number' || !Number.isFinite(value))
    throw new TypeError(`progress ${shown(value)}: expected a number, such as 0.4`);
  if (text !== null && typeof text !== 'string')
    throw new TypeError(`text of progress ${shown(text)}: expected a string`);
  return { value, text: text === null ? null : shortBytes(text, MAX_TEXT_BYTES) };
}

function shown(value: unknown): string {
  try {
    return shortBytes(inspect(value, { depth: 0 }), 100);
  } catch {
    return 'of an unreadable value';
  }
}
