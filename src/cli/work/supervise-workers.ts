import { fork } from 'node:child_process';
import { createLog, type LogOptions, openLogStream } from '../../worker/log/log.ts';
import { supervise } from '../../worker/supervise/supervise.ts';
import type { Context } from '../run/context.ts';
import { listen } from './listen.ts';

/** `taskq work --processes n`: run this command line in n processes. Returns the exit code. */
export async function superviseWorkers(
  context: Context,
  processes: number,
  logOptions: LogOptions,
): Promise<number> {
  // Choose the database once for all processes: this starts and migrates an embedded one.
  const { url } = await context.chosenDatabase();
  const stream = await openLogStream(logOptions);
  const events = createLog(logOptions, stream);
  const [binary = '', ...argv] = process.argv.slice(1);
  const signals = listen();
  try {
    events.event('supervisor.started', { pid: process.pid, processes });
    const exitCode = await supervise({
      processes,
      start: () =>
        fork(binary, alone(argv), {
          detached: true,
          stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
          env: { ...context.env, TASKQ_DATABASE_URL: url },
        }),
      onLine: (line) => stream.write(`${line}\n`),
      events,
      stop: signals.stop,
      hurry: signals.hurry,
    });
    return signals.hurry.aborted && exitCode === 0 ? signals.exitCode() : exitCode;
  } finally {
    signals.close();
  }
}

/** The same command line, for one process. */
function alone(argv: readonly string[]): string[] {
  const end = argv.indexOf('--');
  const options = end === -1 ? argv : argv.slice(0, end);
  return [...options, '--processes', '1', ...argv.slice(options.length)];
}
