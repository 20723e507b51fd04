/**
 * Makes an object of these names and values. Throws what `refuse` returns for the first name with two different values:
 * taking only the last value would select unintended tasks.
 */
export function oneValueEach(
  pairs: readonly (readonly [name: string, value: string])[],
  refuse: (name: string, before: string, value: string) => Error,
): Record<string, string> {
  const values = new Map<string, string>();
  for (const [name, value] of pairs) {
    const before = values.get(name);
    if (before !== undefined && before !== value) throw refuse(name, before, value);
    values.set(name, value);
  }
  return Object.fromEntries(values);
}
