import type { Environment } from './environment.ts';

interface Stream {
  /** Absent where there is no terminal. */
  readonly isTTY?: boolean;
}

/** Whether a person at a terminal would see that a local database is started. */
export function isInteractive(
  env: Environment,
  streams: { readonly stdin: Stream; readonly stderr: Stream },
): boolean {
  const isTerminal = streams.stdin.isTTY === true || streams.stderr.isTTY === true;
  return isTerminal && env.NODE_ENV !== 'production' && (env.CI ?? '') === '';
}
