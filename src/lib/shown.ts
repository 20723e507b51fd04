/** A value as a message shows it: its JSON, cut short; what has none, as JavaScript writes it. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.slice(0, MAX_LENGTH));
  return (jsonOf(value) ?? String(value)).slice(0, MAX_LENGTH);
}

const MAX_LENGTH = 60;

/** Undefined where it has no JSON: a function, a BigInt, what refers to itself. */
function jsonOf(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
