import pg from 'pg';

/** Replaces each `$n` of a statement with its value as a literal of undeclared type, as the driver sends it. */
export function withLiterals(text: string, values: readonly unknown[]): string {
  return text.replaceAll(/\$(\d+)/g, (_, n: string) => literalOf(values[Number(n) - 1]));
}

/**
 * Returns whether a statement's text can contain these values: a zero byte would end it. (The server refuses one in a
 * value, too.)
 */
export function areSendable(values: readonly unknown[]): boolean {
  return !values.some((value) =>
    Array.isArray(value) ? !areSendable(value) : typeof value === 'string' && value.includes('\0'),
  );
}

function literalOf(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  return pg.escapeLiteral(Array.isArray(value) ? arrayText(value) : scalarText(value));
}

function arrayText(values: readonly unknown[]): string {
  const elements = values.map((value) => {
    if (value === null || value === undefined) return 'NULL';
    return `"${scalarText(value).replaceAll(/["\\]/g, '\\$&')}"`;
  });
  return `{${elements.join(',')}}`;
}

function scalarText(value: unknown): string {
  if (['string', 'number', 'boolean', 'bigint'].includes(typeof value)) return String(value);
  throw new TypeError(`a statement cannot contain a value of type ${typeof value}`);
}
