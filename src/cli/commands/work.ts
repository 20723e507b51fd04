import { constants } from 'node:os';
import type { Command } from 'commander';
import type { LoadedConfig } from '../../config/load-config.ts';
import { EXIT, TaskqError } from '../../lib/errors.ts';
import type { Call, CliCommand } from '../command.ts';
import type { Context } from '../context.ts';
import type { GlobalOptions } from '../global-options.ts';

interface WorkOptions extends GlobalOptions {
  readonly untilIdle?: true;
  readonly maxTasks?: string;
  readonly paused?: true;
}

/** `taskq work`: the worker daemon. */
export const work: CliCommand<WorkOptions> = {
  signals: 'own',
  declare,
  run,
};

function declare(command: Command): void {
  command
    .option('--concurrency <n>', 'tasks to run at a time (8)')
    .option('--queues <a,b>', 'queues to serve, every one unless told')
    .option('--types <a,b>', 'types to serve, every one that has a handler here unless told')
    .option('--handlers <dir>', 'where the handlers are (./handlers)')
    .option('--until-idle', 'end when nothing is running, due or to be retried')
    .option('--max-tasks <n>', 'end after so many tasks')
    .option('--batch <auto|n>', 'tasks in one claim; auto follows how fast they are done')
    .option('--lease <duration>', 'how long a task is held without a heartbeat (30s)')
    .option('--poll <duration>', 'how often to look for tasks when there are none (1s)')
    .option('--grace <duration>', 'how long running tasks may finish after SIGTERM (25s)')
    .option('--name <name>', 'what this worker calls itself; the host unless told')
    .option('--paused', 'claim nothing until resumed')
    .addHelpText(
      'after',
      `
A handler is a file: handlers/send-email.ts runs the tasks of type send-email.
SIGTERM or Ctrl-C: claim no more, let running tasks finish within the grace, give the rest back.
A second one: give everything back now.

Exit codes: 0 after a drain, 1 when it could not go on (its supervisor starts another), 130 or 143 when hurried.`,
    );
}

async function run(context: Context, { options }: Call<WorkOptions>): Promise<number> {
  const config = await context.config();
  const maxTasks = options.maxTasks === undefined ? null : maxTasksOf(options.maxTasks);
  const { loadHandlers } = await import('../../worker/load-handlers.ts');
  const { values } = config;
  const handlers = await loadHandlers(values.handlers, values.types);
  const database = await context.chosenDatabase();
  const { createLog } = await import('../../worker/log.ts');
  const { runWorker } = await import('../../worker/run-worker.ts');

  const signals = listen();
  try {
    const running = runWorker({
      ...workerSettings(config),
      databaseUrl: database.url,
      directUrl: database.directUrl,
      handlers,
      maxTasks,
      untilIdle: options.untilIdle === true,
      paused: options.paused === true,
      events: await createLog(logOptions(config, options)),
      stop: signals.stop,
      hurry: signals.hurry,
    });
    const end = await Promise.race([running, afterHurry(signals.hurry)]);
    if (end === 'late') {
      context.output.complain(
        'taskq: the database does not answer; what this worker holds is left to its leases',
      );
      return signals.exitCode();
    }
    return signals.hurry.aborted && end.exitCode === 0 ? signals.exitCode() : end.exitCode;
  } finally {
    signals.close();
  }
}

function workerSettings({ values }: LoadedConfig) {
  const { concurrency, queues, batch, leaseMs, heartbeatMs, pollMs, rescueMs, graceMs, name } = values;
  return {
    concurrency,
    queues,
    batch: batch as number | 'auto',
    leaseMs,
    heartbeatMs,
    pollMs,
    rescueMs,
    graceMs,
    ...(name !== null && { name }),
  };
}

function logOptions({ values }: LoadedConfig, { json, quiet, color }: WorkOptions) {
  const pretty = process.stdout.isTTY === true && !json;
  const colour = color !== false && !process.env.NO_COLOR;
  return { level: quiet ? ('warn' as const) : values.logLevel, pretty, colour };
}

function maxTasksOf(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && Number.isSafeInteger(count)) return count;
  throw new TaskqError('bad_option', `--max-tasks ${text}: expected a number from 1 on`, {
    exitCode: EXIT.usage,
  });
}

/** Who is in a hurry waits no longer than this for a database that does not answer. */
const HURRIED_MS = 1800;

function afterHurry(hurry: AbortSignal): Promise<'late'> {
  return new Promise((resolve) => {
    hurry.addEventListener('abort', () => setTimeout(resolve, HURRIED_MS, 'late').unref());
  });
}

/** A second signal counts from this long after the first: a Ctrl-C reaches some process groups twice. */
const SECOND_SIGNAL_MS = 500;

/** The first signal asks the worker to stop, the second to hurry. */
function listen() {
  const stop = new AbortController();
  const hurry = new AbortController();
  let first: { signal: NodeJS.Signals; at: number } | undefined;
  const onSignal = (signal: NodeJS.Signals) => {
    const now = performance.now();
    if (first === undefined) first = { signal, at: now };
    else if (now - first.at >= SECOND_SIGNAL_MS) hurry.abort();
    stop.abort();
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, onSignal);
  return {
    stop: stop.signal,
    hurry: hurry.signal,
    exitCode: () => 128 + constants.signals[first!.signal as 'SIGINT' | 'SIGTERM'],
    close() {
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.off(signal, onSignal);
    },
  };
}
