const HERE = new URL('..', import.meta.url);

/** Whether a stack line is in our own code: those frames are the same for every task and do not help its author. */
export function isCaller(line: string): boolean {
  return line.includes(HERE.href) || line.includes(HERE.pathname);
}
