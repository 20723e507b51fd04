import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** A Node program as a child process, with its output so far on both streams. */
export interface RunningProgram {
  output(): string;
  signal(signal: NodeJS.Signals): void;
  /** Its exit code, or the signal that killed it. */
  readonly exit: Promise<number | NodeJS.Signals>;
  /** Kills it if it still runs. */
  kill(): Promise<unknown>;
}

export function startProgram(path: string, env: Readonly<Record<string, string>>): RunningProgram {
  const child = spawn(process.execPath, [path], {
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  }
  const exit = once(child, 'close').then(([code, signal]) => code ?? signal);
  return {
    output: () => output,
    signal: (signal) => void child.kill(signal),
    exit,
    kill: () => {
      child.kill('SIGKILL');
      return exit;
    },
  };
}
