import { execFile } from 'node:child_process';

/** Thrown for a program that exited with a code other than 0, or could not be started. */
export class ProgramFailed extends Error {
  /** Its stderr (at most the last 2000 characters), or why it could not be started. */
  readonly output: string;

  constructor(program: string, output: string) {
    super(`${program}: ${output}`);
    this.name = 'ProgramFailed';
    this.output = output;
  }
}

export interface RunOptions {
  readonly uid?: number;
  readonly gid?: number;
}

/** Runs a program to its end and returns its stdout. Throws `ProgramFailed`. */
export function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(program, args, { ...options, env: PLAIN, cwd: '/' }, (error, stdout, stderr) => {
      if (error) reject(new ProgramFailed(program, (stderr.trim() || error.message).slice(-2000)));
      else resolve(stdout.trim());
    });
  });
}

/** Runs a program to its end and returns its stdout; undefined if it fails. */
export async function capture(program: string, args: readonly string[]): Promise<string | undefined> {
  return run(program, args).catch(() => undefined);
}

/**
 * The whole environment of our programs: a user's PGPORT, PGDATA, LD_LIBRARY_PATH or locale, meant for another server,
 * would change their behaviour. They run in `/` because user `postgres` may not enter root's directory.
 */
export const PLAIN = { PATH: '/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin', LC_ALL: 'C' };
