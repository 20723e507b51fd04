/** A number that JavaScript would write otherwise: beyond 2^53, with many decimals, or with zeros at its end. */
export class ExactNumber {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

/** JSON as typed by the user, to be sent unchanged. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Parses JSON without changing a number: one that JavaScript would change becomes an ExactNumber. Throws SyntaxError. */
export function parseJson(text: string): unknown {
  // A browser before 2025 passes no source; there such a number is rounded.
  const revive = (_: string, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && context?.source !== undefined && context.source !== String(value)
      ? new ExactNumber(context.source)
      : value;
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown);
}

/** Writes JSON, with exact numbers and typed texts as they are. */
export function stringifyJson(value: unknown, indent = ''): string {
  return write(value, indent, '\n');
}

function write(value: unknown, indent: string, line: string): string {
  if (value instanceof ExactNumber || value instanceof JsonText) return value.text;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const inner = line + indent;
  const isList = Array.isArray(value);
  const parts = isList
    ? value.map((item) => write(item ?? null, indent, inner))
    : Object.entries(value).flatMap(([name, item]) =>
        item === undefined
          ? []
          : `${JSON.stringify(name)}:${indent === '' ? '' : ' '}${write(item, indent, inner)}`,
      );
  const [open, close] = isList ? '[]' : '{}';
  if (indent === '' || parts.length === 0) return `${open}${parts.join(',')}${close}`;
  return `${open}${inner}${parts.join(`,${inner}`)}${line}${close}`;
}
