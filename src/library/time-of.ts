/** A time as the database gives it in JSON. Null for infinity too, which only a row changed by hand has. */
export function timeOf(text: unknown): Date | null {
  return typeof text === 'string' && text !== 'infinity' ? new Date(text) : null;
}
