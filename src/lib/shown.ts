/** Formats a value for a message: its JSON, cut to 60 characters, or JavaScript's own text if it has no JSON. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cut(value));
  // JSON has null for these.
  const isNamed = (typeof value === 'number' && !Number.isFinite(value)) || isInvalidDate(value);
  return cut((isNamed ? undefined : jsonOf(value)) ?? String(value));
}

const MAX_LENGTH = 60;

/** What is left out is shown by an ellipsis. */
function cut(text: string): string {
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text;
}

function isInvalidDate(value: unknown): boolean {
  return value instanceof Date && Number.isNaN(value.getTime());
}

/** Undefined if it has no JSON: a function, a BigInt, a circular value. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
