import pg from 'pg';

/** Write a statement's values into its text, each where `$n` stands: as the driver sends them, of no declared type. */
export function withLiterals(text: string, values: readonly unknown[]): string {
  return text.replaceAll(/\$(\d+)/g, (_, n: string) => literalOf(values[Number(n) - 1]));
}

/** Whether a text that holds these can be sent: a zero byte would end it. The server refuses that in a value, too. */
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
