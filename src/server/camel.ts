/** Returns a row with the names of its columns as the library writes them: `max_attempts` is `maxAttempts`. */
export function camel(row: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      value,
    ]),
  );
}

/** The same for a row with settings and their sources. */
export function camelWithSources(row: { readonly sources: object }): Record<string, unknown> {
  return { ...camel(row), sources: camel(row.sources) };
}
