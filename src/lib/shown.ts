/** Formats a value for a message: its JSON, cut to 60 characters, or JavaScript's own text if it has no JSON. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_LENGTH));
  return (jsonOf(value) ?? String(value)).slice(0, MAX_LENGTH);
}

const MAX_LENGTH = 60;

/** Undefined if it has no JSON: a function, a BigInt, a circular value. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
