/** The errors of statements that were never sent. */
const unsent = new WeakSet<Error>();

/** Mark an error as belonging to a statement that was never sent, and return it. */
export function asUnsent(error: unknown): unknown {
  if (error instanceof Error) unsent.add(error);
  return error;
}

/** Whether the statement that failed with this error was never sent because there was no connection. */
export function isUnsent(error: unknown): boolean {
  return error instanceof Error && unsent.has(error);
}
