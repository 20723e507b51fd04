import type { Environment } from './environment.ts';

interface Stream {
  /** Absent for what is no terminal. */
  readonly isTTY?: boolean;
}

/** Whether somebody sits at a terminal, who would see that a local database is started. */
export function isInteractive(
  env: Environment,
  streams: { readonly stdin: Stream; readonly stderr: Stream },
): boolean {
  const isTerminal = streams.stdin.isTTY === true || streams.stderr.isTTY === true;
  return isTerminal && env.NODE_ENV !== 'production' && (env.CI ?? '') === '';
}
