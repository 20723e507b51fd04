import { execFile } from 'node:child_process';

/** A program that ended otherwise than with 0, or could not be started. */
export class ProgramFailed extends Error {
  /** Its stderr, or the reason it could not be started. */
  readonly said: string;

  constructor(program: string, said: string) {
    super(`${program}: ${said}`);
    this.name = 'ProgramFailed';
    this.said = said;
  }
}

export interface RunOptions {
  readonly uid?: number;
  readonly gid?: number;
}

/** Runs a program to its end and returns its stdout; fails with `ProgramFailed`. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { ...options, env: PLAIN, cwd: '/' }, (error, stdout, stderr) => {
      if (error) reject(new ProgramFailed(program, (stderr.trim() || error.message).slice(-2000)));
      else resolve(stdout.trim());
    });
  });
}

/** The same, where a failure is an answer: undefined. */
export async function capture(program: string, args: readonly string[]): Promise<string | undefined> {
  return run(program, args).catch(() => undefined);
}

/**
 * All that our programs get of an environment: PGPORT, PGDATA, LD_LIBRARY_PATH or a locale of the user, meant
 * for another server, would change what they do. They run in `/`, for `postgres` may not enter root's directory.
 */
export const PLAIN = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C' };
