/** Formats a value for a message: its JSON, cut to 60 characters, or JavaScript's own text if it has no JSON. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_LENGTH));
  // JSON has null for these.
  const isNamed = (typeof value === 'number' && !Number.isFinite(value)) || isInvalidDate(value);
  return ((isNamed ? undefined : jsonOf(value)) ?? String(value)).slice(0, MAX_LENGTH);
}

const MAX_LENGTH = 60;

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
