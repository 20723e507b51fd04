import type { Command } from 'commander';
import type { LoadedConfig } from '../../config/load-config.ts';
import type { SettingSource } from '../../config/setting.ts';
import type { Config } from '../../config/settings.ts';
import { badOption } from '../../lib/bad-option.ts';
import { EXIT, type TaskqError } from '../../lib/errors.ts';
import type { TaskSettings } from '../../worker/configured-settings.ts';
import type { FromSupervised } from '../../worker/supervise/supervised-messages.ts';
import type { ClaimOptions, WorkerTimes } from '../../worker/worker-options.ts';
import type { Call, CliCommand } from '../run/command.ts';
import type { Context } from '../run/context.ts';
import type { GlobalOptions } from '../run/global-options.ts';
import { wantsColour } from '../run/output.ts';

interface WorkOptions extends GlobalOptions {
  readonly untilIdle?: true;
  readonly maxTasks?: string;
  readonly paused?: true;
  readonly watch?: true;
}

/** `taskq work`: the worker daemon. */
export const work: CliCommand<WorkOptions> = {
  signals: 'own',
  suggestions: { batch: ['auto'], claim: ['skip-locked', 'optimistic'], isolation: ['inline', 'process'] },
  declare,
  run,
};

function declare(command: Command): void {
  command
    .option('--concurrency <n>', 'tasks each process runs at a time (8)')
    .option(
      '--processes <n>',
      'number of worker processes; with more than one, those that die are restarted (1)',
    )
    .option('--queues <a,b>', 'queues to serve; without it: every queue')
    .option('--types <a,b>', 'types to serve; without it: all that have a handler')
    .option('--handlers <dir>', 'directory of the handlers (./handlers)')
    .option('--isolation <inline|process>', 'where handlers run unless they set it themselves (inline)')
    .option('--until-idle', 'exit when no task is running, due, snoozed or waiting for a retry')
    .option('--max-tasks <n>', 'exit after n tasks')
    .option('--batch <auto|n>', 'tasks per claim; auto adapts to how fast they finish')
    .option('--claim <form>', 'skip-locked, or optimistic: claim without SKIP LOCKED, at a higher cost')
    .option('--lease <duration>', 'how long a claimed task is held without a heartbeat (30s)')
    .option('--poll <duration>', 'how often to look for tasks while idle (1s)')
    .option('--grace <duration>', 'how long running tasks may continue after SIGTERM (25s)')
    .option(
      '--kill-after <duration>',
      'how long after its timeout a handler in its own process is killed (2s)',
    )
    .option('--name <name>', 'name of this worker in lists and logs; default: the host')
    .option('--paused', 'start paused; taskq workers resume lets it claim tasks')
    .option('--watch', 'reload handlers when their files change')
    .addHelpText(
      'after',
      `
A handler is a file: handlers/send-email.ts runs the tasks of type send-email. So does a program that starts
with #!, in any language: it reads the payload from stdin and writes the result to stdout.

SIGTERM or Ctrl-C stops claiming, lets running tasks finish within --grace and gives the rest back, with no attempt
counted. A second signal gives everything back at once.
--processes n keeps n workers running. One that dies is restarted, after a longer pause each time. Signals go to all of
them; if the command itself is killed, they drain. --concurrency applies to each.
--watch is for development: tasks that start after a change use the new handlers and everything they import, except
packages. If one file does not load, all handlers stay as they were.

Exit codes: 0 after a drain, 1 when the worker cannot continue (restart it) or left tasks unrecorded, 130 or 143 after a
second signal. With --processes, if no process can start, the command exits with the processes' code.`,
    );
}

async function run(context: Context, { options }: Call<WorkOptions>): Promise<number> {
  const config = await context.config();
  const maxTasks = options.maxTasks === undefined ? null : maxTasksOf(options.maxTasks);
  const { processes } = config.values;
  if (processes > 1) {
    if (maxTasks !== null) throw notWithProcesses(processes, config.sources.processes);
    const { superviseWorkers } = await import('../work/supervise-workers.ts');
    return superviseWorkers(context, processes, logOptions(context, config, options));
  }
  divertStdout();
  const { handlers, watched } = await findHandlers(config, options);
  const database = await context.chosenDatabase();
  const { createLog, openLogStream } = await import('../../worker/log/log.ts');
  const { runWorker } = await import('../../worker/run-worker.ts');
  const { configuredSettings } = await import('../../worker/configured-settings.ts');
  const { listen } = await import('../work/listen.ts');
  const log = logOptions(context, config, options);
  const events = createLog(log, await openLogStream(log));

  const signals = listen();
  try {
    const running = runWorker({
      connection: {
        databaseUrl: database.url,
        directUrl: database.directUrl,
        synchronousCommit: config.values.synchronousCommit,
      },
      tasks: {
        handlers,
        watched,
        configured: configuredSettings(taskSettingsOf(config.values)),
        schedules: await configuredSchedules(config.values),
      },
      claims: claimOptions(config.values, options),
      times: timesOf(config.values),
      end: { maxTasks, untilIdle: options.untilIdle === true, stop: signals.stop, hurry: signals.hurry },
      process: {
        name: config.values.name ?? undefined,
        kind: 'own',
        events,
        onStarted: () => notifySupervisor({ kind: 'started' }),
        onStopped: () => notifySupervisor({ kind: 'stopped' }),
      },
    });
    const end = await Promise.race([running, afterHurry(signals.hurry)]);
    if (end === 'late') {
      context.output.complain(
        "taskq: the database does not answer; other workers take over this worker's tasks when their leases run out",
      );
      return EXIT.failed;
    }
    return signals.hurry.aborted && end.exitCode === 0 ? signals.exitCode() : end.exitCode;
  } finally {
    signals.close();
  }
}

/**
 * Redirect what handlers print on stdout to stderr, as in their own processes. The log has stdout to itself; its lines
 * bypass this stream.
 */
function divertStdout(): void {
  process.stdout.write = process.stderr.write.bind(process.stderr);
}

async function findHandlers({ values }: LoadedConfig, { watch }: WorkOptions) {
  const { handlers: directory, types, isolation } = values;
  if (watch) {
    const { WatchedHandlers } = await import('../../worker/handlers/watched-handlers.ts');
    const watched = new WatchedHandlers(directory, types, isolation);
    return { handlers: await watched.load(), watched };
  }
  const { loadHandlers } = await import('../../worker/handlers/load-handlers.ts');
  return { handlers: await loadHandlers(directory, types, isolation), watched: undefined };
}

function claimOptions({ concurrency, queues, batch, claim }: Config, { paused }: WorkOptions): ClaimOptions {
  return { concurrency, queues, batch: batch as number | 'auto', claimForm: claim, paused: paused === true };
}

function timesOf({ leaseMs, heartbeatMs, pollMs, rescueMs, graceMs, killAfterMs }: Config): WorkerTimes {
  return { leaseMs, heartbeatMs, pollMs, rescueMs, graceMs, killAfterMs };
}

function logOptions({ env }: Context, { values }: LoadedConfig, { json, quiet, color }: WorkOptions) {
  const pretty = process.stdout.isTTY === true && !json;
  const colour = wantsColour(env, { color });
  const level = quiet ? ('warn' as const) : values.logLevel;
  return { level, pretty, colour, about: isSupervised() ? { pid: process.pid } : {} };
}

/** Whether this is one process of `--processes`. */
function isSupervised(): boolean {
  return process.send !== undefined;
}

function notifySupervisor(message: FromSupervised): void {
  if (isSupervised() && process.connected) process.send?.(message);
}

function notWithProcesses(processes: number, source: SettingSource): TaskqError {
  const message = `--max-tasks works with one process, and there are ${processes} (${source})`;
  return badOption(message, 'add --processes 1');
}

function maxTasksOf(text: string): number {
  const count = Number(text);
  if (/^\d+$/.test(text) && count >= 1 && Number.isSafeInteger(count)) return count;
  throw badOption(`--max-tasks ${text}: expected a number from 1 on`);
}

/** After a second signal, wait at most this long for a database that does not answer. */
const HURRIED_MS = 1800;

function afterHurry(hurry: AbortSignal): Promise<'late'> {
  return new Promise((resolve) => {
    hurry.addEventListener('abort', () => setTimeout(resolve, HURRIED_MS, 'late').unref());
  });
}

/** The schedules of the configuration. */
async function configuredSchedules({ schedules }: Config) {
  if (schedules === null) return [];
  const { newScheduleOf } = await import('../../domain/schedule/definition.ts');
  return Object.entries(schedules).map(([name, schedule]) => newScheduleOf(name, schedule));
}

/** The settings for tasks in the configuration. */
function taskSettingsOf(config: Config): TaskSettings {
  const { maxAttempts, backoff, timeoutMs, expiresMs, retention, taskTypes, queueSettings } = config;
  return {
    defaults: { maxAttempts, backoff, timeout: timeoutMs, expires: expiresMs, retention },
    types: taskTypes ?? {},
    queues: queueSettings ?? {},
  };
}
