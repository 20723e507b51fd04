/** A number of JSON that JavaScript would change, beyond 2^53 or of many decimals. It counts as the nearest there is. */
export class ExactNumber extends Number {
  readonly #text: string;

  constructor(text: string) {
    super(text);
    this.#text = text;
  }

  override toString(): string {
    return this.#text;
  }

  /** For `stringifyExact`, which takes the mark away. */
  toJSON(): string {
    return `${MARK}${this.#text}`;
  }
}

/** No string that comes from jsonb has it. */
const MARK = '\0';
const MARKED = /^\0-?\d+(?:\.\d+)?$/;

/**
 * Parse JSON text, of the database or of somebody who has no NUL in it. Numbers that would be changed are kept as
 * ExactNumber, unless they have an exponent: the database writes none.
 */
export function parseExact(text: string): unknown {
  // Fifteen digits always fit.
  if (!/[\d.]{16}/.test(text)) return JSON.parse(text);
  const marked = text.replaceAll(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || isSame(token) ? token : JSON.stringify(`${MARK}${token}`),
  );
  return JSON.parse(marked, (_, value) =>
    typeof value === 'string' && MARKED.test(value) ? new ExactNumber(value.slice(MARK.length)) : value,
  );
}

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** But for zeros at the end, which say nothing. */
function isSame(number: string): boolean {
  if (/[eE]/.test(number)) return true;
  return String(Number(number)) === (number.includes('.') ? number.replace(/\.?0+$/, '') : number);
}

/** Write JSON as `JSON.stringify` does, and every ExactNumber as it was read. */
export function stringifyExact(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replaceAll(/"\\u0000(-?\d+(?:\.\d+)?)"/g, '$1');
}
