import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { inject } from 'vitest';

export interface TaskqOptions {
  /** Added to an environment without settings of ours: DATABASE_URL, for example. */
  readonly env?: Readonly<Record<string, string>>;
  /** Default: the repository. */
  readonly cwd?: string;
}

/** The binary as a child process without a terminal, with its output so far. */
export interface SpawnedTaskq {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves when it has ended and all its output has arrived. */
  readonly closed: Promise<unknown>;
  stdout(): string;
  stderr(): string;
  /** Kills it and all its children; does nothing if they have ended. */
  killGroup(): void;
}

export const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));

export const BINARY = fileURLToPath(new URL('../../bin/taskq.js', import.meta.url));

/** Starts the built binary in a process group of its own. */
export function spawnTaskq(args: readonly string[], options: TaskqOptions): SpawnedTaskq {
  const child = spawn(process.execPath, [BINARY, ...args], {
    cwd: options.cwd ?? REPOSITORY,
    env: { ...plainEnvironment(), ...options.env },
    stdio: 'pipe',
    detached: true,
  });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
    });
  }
  return {
    child,
    closed: once(child, 'close'),
    stdout: () => output.stdout,
    stderr: () => output.stderr,
    killGroup: () => killGroup(child.pid),
  };
}

/** Without our settings and without the home directory of the user who runs the tests. */
export function plainEnvironment(): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: inject('scratchDirectory'), TZ: 'UTC' };
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
