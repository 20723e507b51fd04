import { constants } from 'node:os';
import { TaskqError } from '../../lib/errors.ts';
import type { CliCommand } from './command.ts';
import type { Context } from './context.ts';

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/**
 * Run a command until it ends, a signal stops it, or the reader of its output goes away. Returns the exit code: 130 or
 * 143 after a signal, 0 once stdout has no reader. Throws TaskqError if the output could not be written.
 */
export async function untilStopped(
  command: CliCommand,
  context: Context,
  run: () => Promise<number>,
): Promise<number> {
  let stop!: (code: number) => void;
  let fail!: (error: Error) => void;
  const stopped = new Promise<number>((resolve, reject) => {
    stop = resolve;
    fail = reject;
  });
  const onSignal = (signal: (typeof SIGNALS)[number]) => {
    const isFirst = !context.signal.aborted;
    context.abort(signal);
    if (context.onSignal() === 'end' || !isFirst) stop(exitCodeOf(signal));
  };
  const onStdoutError = (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') stop(0);
    else fail(outputFailed(error));
  };
  const listened = command.signals === 'own' ? [] : SIGNALS;
  for (const signal of listened) process.on(signal, onSignal);
  if (command.signals !== 'own') process.stdout.on('error', onStdoutError);
  process.stderr.on('error', () => {});
  const running = run();
  running.catch(() => {}); // it may fail after it was stopped
  try {
    const code = await Promise.race([running, stopped]);
    // If a command prints just before it ends, the error event comes after its end.
    const failed: NodeJS.ErrnoException | null = process.stdout.errored;
    if (failed !== null && failed.code !== 'EPIPE') throw outputFailed(failed);
    return code;
  } finally {
    for (const signal of listened) process.off(signal, onSignal);
  }
}

function outputFailed(cause: Error): TaskqError {
  return new TaskqError('output_failed', `stdout cannot be written: ${cause.message}`, {
    hint: 'what the command did is done, and some of its output is lost',
    cause,
  });
}

/** 130 or 143. */
export function exitCodeOf(signal: (typeof SIGNALS)[number]): number {
  return 128 + constants.signals[signal];
}
