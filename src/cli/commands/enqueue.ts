import type { Command } from 'commander';
import { badOption } from '../../lib/bad-option.ts';
import { parseDuration } from '../../lib/duration.ts';
import { TaskqError } from '../../lib/errors.ts';
import { declareTaskOptions, TASK_SUGGESTIONS } from '../enqueue/declare-task-options.ts';
import type { TaskOptions } from '../enqueue/task-options.ts';
import type { CliCommand } from '../run/command.ts';

interface EnqueueOptions extends TaskOptions {
  readonly file?: string;
  readonly envelope?: true;
  readonly skipBad?: true;
  /** True: wait without a time limit. */
  readonly wait?: string | true;
  readonly allowUnknown?: true;
}

/** `taskq enqueue`: one task, or all of a file. */
export const enqueue: CliCommand<EnqueueOptions> = {
  suggestions: { ...TASK_SUGGESTIONS, onDeath: ['cancel', 'continue', 'wait'] },
  declare,
  async run(context, { args, options }) {
    const [type, payload] = args;
    const { file, wait } = options;
    const waitMs = wait === undefined ? undefined : waitOf(wait);
    if (type === undefined && !options.envelope)
      throw badOption('the type is missing: taskq enqueue <type> [json|-]');
    if (file === undefined) {
      if (type === undefined || options.envelope) throw badOption('--envelope needs --file');
      if (options.skipBad) throw badOption('--skip-bad needs --file');
      const { enqueueOne } = await import('../enqueue/enqueue-one.ts');
      return enqueueOne(context, { type, payload, options, waitMs });
    }
    if (payload !== undefined) throw badOption('give the payload either as an argument or with --file');
    if (wait !== undefined) throw badOption('--wait works for one task, not with --file');
    if (options.step !== undefined)
      throw badOption('--step does not work with --file', 'give each line its own "step" with --envelope');
    if (options.key !== undefined) {
      throw badOption(
        '--key does not work with --file: all its tasks would have the same key',
        'give each line its own "key" with --envelope',
      );
    }
    const { enqueueFile } = await import('../enqueue/enqueue-file.ts');
    return enqueueFile(context, { type, file, options });
  },
};

/** Milliseconds; infinity for a bare `--wait`. */
function waitOf(wait: string | true): number {
  if (wait === true) return Number.POSITIVE_INFINITY;
  try {
    return parseDuration(wait, '--wait');
  } catch (error) {
    // `--wait greet '{}'`: the type was read as the duration.
    if (!(error instanceof TaskqError) || /^[\d.+-]|^$/.test(wait)) throw error;
    throw new TaskqError(error.code, error.message, {
      hint: 'the type and the payload go before --wait, or write --wait=30s',
    });
  }
}

function declare(command: Command): void {
  command
    .argument('[type]', 'task type: the name of its handler')
    .argument('[json]', 'payload; - reads it from stdin; default {}')
    .option('--file <path>', 'enqueue each line (NDJSON) or element (JSON array) of a file; - is stdin')
    .option(
      '--envelope',
      'lines are {"payload": …} and may have "type" and options: queue, priority, delay, at, group, key, tags, …',
    )
    .option('--skip-bad', 'skip bad lines; without this, one bad line means nothing is enqueued');
  declareTaskOptions(command);
  command
    .option('--at <time>', 'wait until this time: 2030-01-31T09:00:00+01:00')
    .option('--wait [duration]', 'wait until the task has ended (at most this long), and print its result')
    .option('--workflow <id>', 'add it to this open workflow as a step')
    .option('--step <step>', 'name of the step (the id of the task)')
    .option('--after <steps>', 'start it once these steps have ended: a,b')
    .option(
      '--on-death <policy>',
      'if one of them is dead, cancelled or expired: cancel it (default), continue, or wait for a revive',
    )
    .option('--allow-unknown', 'accept a type without a known handler')
    .usage('[options] <type> [json|-]')
    .addHelpText('after', EXAMPLES);
}

const EXAMPLES = `
Prints the id of the task. If --key is already held, enqueues nothing and prints the id of the task that holds it.
With --on-held replace, that task gets the new payload, options and time; if it is running, the new one runs after it.
With --wait, exit codes: 0 completed; 1 dead, cancelled or expired; 4 not finished within the duration.

Examples:
  taskq enqueue send-email '{"to":"ann@example.org"}' --delay 10m --key ann
  taskq enqueue reindex '{"shop":7}' --key shop-7 --on-held replace --delay 30s
  taskq enqueue resize-image - < payload.json
  taskq enqueue hash-file --file paths.ndjson
  taskq enqueue report '{"month":1}' --wait=30s`;
