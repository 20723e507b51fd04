import type { Environment } from './environment.ts';

interface Stream {
  /** Absent where there is no terminal. */
  readonly isTTY?: boolean;
}

/** Returns why a person would not see that a local database is started; undefined: there is a person at a terminal. */
export function whyUnattended(
  env: Environment,
  streams: { readonly stdin: Stream; readonly stderr: Stream },
): string | undefined {
  if (streams.stdin.isTTY !== true && streams.stderr.isTTY !== true)
    return 'neither stdin nor stderr is a terminal';
  if (env.NODE_ENV === 'production') return 'NODE_ENV is production';
  return (env.CI ?? '') === '' ? undefined : 'CI is set';
}
