/** The errors of statements that were never sent. */
const unsent = new WeakSet<Error>();

/** Mark an error as that of a statement that was never sent, and return it. */
export function asUnsent(error: unknown): unknown {
  if (error instanceof Error) unsent.add(error);
  return error;
}

/** Whether the statement that failed with this error was never sent, for want of a connection. */
export function isUnsent(error: unknown): boolean {
  return error instanceof Error && unsent.has(error);
}
