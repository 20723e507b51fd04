import { printable } from './printable.ts';

/** A name as one word of a POSIX shell, to be pasted: `mail`, `'a b'`. */
export function shellWord(name: string): string {
  const shown = printable(name);
  return /^[\w./:@%+,-]+$/.test(shown) ? shown : `'${shown.replaceAll("'", String.raw`'\''`)}'`;
}
