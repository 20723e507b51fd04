/// <reference lib="es2024.string" />

export interface StorableLimits {
  /** Bytes of JSON text. */
  readonly resultBytes: number;
  /** Bytes of JSON text. */
  readonly errorBytes: number;
  /** Levels of nesting of a result. */
  readonly depth: number;
}

export const STORABLE_LIMITS: StorableLimits = { resultBytes: 256 * 1024, errorBytes: 16 * 1024, depth: 64 };

/** Makes text storable in PostgreSQL: NUL characters and lone surrogates become U+FFFD. */
export function storableText(text: string): string {
  const whole = text.isWellFormed() ? text : text.toWellFormed();
  return whole.includes('\0') ? whole.replaceAll('\0', '\uFFFD') : whole;
}

/** Returns storable text of at most `maxLength` UTF-16 units; longer text is cut and its length added. */
export function shortText(text: string, maxLength: number): string {
  if (text.length <= maxLength) return storableText(text);
  const mark = `… (${text.length} characters)`;
  return storableText(text.slice(0, Math.max(0, maxLength - mark.length))) + mark;
}

/** Returns storable text of at most `maxBytes` bytes of UTF-8; longer text is cut, with `…` at its end. */
export function shortBytes(text: string, maxBytes: number): string {
  const head = storableText(text.slice(0, maxBytes));
  if (head.length === text.length && Buffer.byteLength(head) <= maxBytes) return head;
  const cut = Buffer.from(head)
    .subarray(0, maxBytes - 3)
    .toString();
  return `${cut.replace(/\uFFFD$/, '')}…`;
}
