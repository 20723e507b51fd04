/** A JSON number that JavaScript would change: beyond 2^53, or with many decimals. Computes as the nearest double. */
export class ExactNumber extends Number {
  readonly #text: string;

  constructor(text: string) {
    super(text);
    this.#text = text;
  }

  override toString(): string {
    return this.#text;
  }

  /** `stringifyExact` removes the mark. */
  toJSON(): string {
    return `${MARK}${this.#text}`;
  }
}

/** Never part of a jsonb string. */
const MARK = '\0';
const MARKED = /^\0-?\d+(?:\.\d+)?$/;

/** Whether `parseExact` may find a number in this text that JavaScript would change. */
export function mayNeedExact(text: string): boolean {
  // Fifteen digits always fit a double.
  return /[\d.]{16}/.test(text);
}

/**
 * Parses JSON text that contains no NUL, such as the database's. Numbers that JavaScript would change become
 * ExactNumber, except those with an exponent, which the database never writes. Throws SyntaxError.
 */
export function parseExact(text: string): unknown {
  if (!mayNeedExact(text)) return JSON.parse(text);
  const marked = text.replaceAll(STRING_OR_NUMBER, (token) =>
    token.startsWith('"') || isSame(token) ? token : JSON.stringify(`${MARK}${token}`),
  );
  return JSON.parse(marked, (_, value) =>
    typeof value === 'string' && MARKED.test(value) ? new ExactNumber(value.slice(MARK.length)) : value,
  );
}

const STRING_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** Whether JavaScript writes the number the same, apart from trailing zeros. */
function isSame(number: string): boolean {
  if (/[eE]/.test(number)) return true;
  return String(Number(number)) === (number.includes('.') ? number.replace(/\.?0+$/, '') : number);
}

/** Writes JSON as `JSON.stringify` does, with each ExactNumber as it was read. */
export function stringifyExact(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replaceAll(/"\\u0000(-?\d+(?:\.\d+)?)"/g, '$1');
}
