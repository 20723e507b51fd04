import type { Command } from 'commander';
import { PRIORITY_NAMES } from '../../domain/priority.ts';
import type { CliCommand } from '../command.ts';
import type { TaskOptions } from '../enqueue/task-options.ts';
import { badOption, collect } from '../task-filter.ts';

interface EnqueueOptions extends TaskOptions {
  readonly file?: string;
  readonly envelope?: true;
  readonly skipBad?: true;
  /** True: for as long as it takes. */
  readonly wait?: string | true;
  readonly allowUnknown?: true;
}

/** `taskq enqueue`: one task, or all of a file. */
export const enqueue: CliCommand<EnqueueOptions> = {
  suggestions: {
    priority: [...'0123456789', ...Object.keys(PRIORITY_NAMES)],
    keyFor: ['live', '24h', 'ever'],
    backoff: ['fixed,10m', 'exponential,5s,max=1h'],
    maxAttempts: ['unlimited'],
    retention: ['none', 'ever'],
  },
  declare,
  async run(context, { args, options }) {
    const [type, payload] = args;
    const { file, wait } = options;
    if (type === undefined && !options.envelope)
      throw badOption('the type is missing: taskq enqueue <type> [json|-]');
    if (file === undefined) {
      if (type === undefined || options.envelope) throw badOption('--envelope needs --file');
      if (options.skipBad) throw badOption('--skip-bad needs --file');
      const { enqueueOne } = await import('../enqueue/enqueue-one.ts');
      return enqueueOne(context, { type, payload, options, wait });
    }
    if (payload !== undefined) throw badOption('give the payload either as an argument or by --file');
    if (wait !== undefined) throw badOption('--wait waits for one task, not for those of a --file');
    if (options.key !== undefined) {
      throw badOption(
        '--key would make one task of the whole --file',
        'give each line its own: --envelope with "key"',
      );
    }
    const { enqueueFile } = await import('../enqueue/enqueue-file.ts');
    return enqueueFile(context, { type, file, options });
  },
};

function declare(command: Command): void {
  command
    .argument('[type]', 'what kind of task: the name of its handler')
    .argument('[json]', 'the payload, {} unless told; - reads it from stdin')
    .option('--file <path>', 'a task for every line (NDJSON) or element (a JSON array) of a file; - is stdin')
    .option(
      '--envelope',
      'lines are {"payload": …} with "type" and options: queue, priority, delay, at, key, tags, …',
    )
    .option('--skip-bad', 'leave out bad lines; else nothing is enqueued when there is one')
    .option('--queue <queue>', 'the lane it waits in (default)')
    .option('--priority <0-9>', '0 is the most urgent, 9 the least; or critical, high, medium, low (2)')
    .option('--delay <duration>', 'not before so long from now: 500ms, 30s, 10m, 2h, 7d')
    .option('--at <time>', 'not before this time: 2030-01-31T09:00:00+01:00')
    .option('--max-attempts <n|unlimited>', 'how often it is tried before it is a dead letter')
    .option('--timeout <duration>', 'the longest an attempt may take')
    .option(
      '--backoff <kind,base,…>',
      'how long it waits after a failure: exponential,5s,factor=2,max=1h,jitter=0.2',
    )
    .option('--expires <duration>', 'not started at all once so long has passed')
    .option('--key <key>', 'at most one task of the queue has it at a time')
    .option(
      '--key-for <period>',
      'how long the key is held: while the task lives (live), 3d or any duration, ever',
    )
    .option('--tag <name=value>', 'to find it by; may be given again', collect)
    .option('--retention <period>', 'how long it is kept when it has ended: none, 7d, ever')
    .option('--wait [duration]', 'wait for its end and print its result')
    .option('--allow-unknown', 'take a type that nobody here knows')
    .usage('[options] <type> [json|-]')
    .addHelpText('after', EXAMPLES);
}

const EXAMPLES = `
Prints the id of the task. A key that is held: the id of the task that holds it.
With --wait: exit code 0 completed, 1 dead, cancelled or expired, 4 still running after the duration.

Examples:
  taskq enqueue send-email '{"to":"ann@example.org"}' --delay 10m --key welcome:ann
  taskq enqueue resize-image - < payload.json
  taskq enqueue hash-file --file paths.ndjson
  taskq enqueue report '{"month":1}' --wait=30s`;
