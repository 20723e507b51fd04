import { parseMaxAttempts } from '../../../domain/enqueue-options.ts';
import { checkedName } from '../../../domain/names.ts';
import { parseRetention } from '../../../domain/retention.ts';
import { parseDuration } from '../../../lib/duration.ts';
import { TaskqError } from '../../../lib/errors.ts';
import { listQueues } from '../../../queue/list-queues.ts';
import { type QueueSettings, setQueue } from '../../../queue/set-queue.ts';
import type { CliCommand } from '../../command.ts';
import { badOption } from '../../task-filter.ts';

interface SetOptions {
  readonly retention?: string;
  readonly deadRetention?: string;
  readonly errorsRetention?: string;
  readonly expires?: string;
  readonly maxAttempts?: string;
  readonly timeout?: string;
}

/** `taskq queues set`: what applies to the tasks of a queue. */
export const queuesSet: CliCommand<SetOptions> = {
  suggestions: {
    retention: ['none', 'ever', 'default'],
    deadRetention: ['ever', 'default'],
    errorsRetention: ['none', 'ever', 'default'],
    expires: ['default'],
    maxAttempts: ['unlimited', 'default'],
    timeout: ['default'],
  },
  declare(command) {
    command
      .argument('<queue>', 'its name')
      .option('--retention <period>', 'how long finished tasks are kept: 7d, none, ever')
      .option('--dead-retention <period>', 'how long dead letters are kept: 90d, ever')
      .option('--errors-retention <period>', 'how long the errors of attempts are kept: 30d, none, ever')
      .option(
        '--expires <duration>',
        'tasks enqueued from now on are not started at all once so long has passed',
      )
      .option('--max-attempts <n|unlimited>', 'how often a task is tried before it is a dead letter')
      .option('--timeout <duration>', 'the longest an attempt may take')
      .addHelpText(
        'after',
        `
The word default, as in --timeout default, takes a setting away: then the database's own applies. What a task says
itself, and what the handler of its type says, is stronger than its queue.`,
      );
  },
  async run(context, { args, options }) {
    const name = checkedName('queue', args[0]!);
    const settings = settingsOf(options);
    if (Object.keys(settings).length === 0) throw badOption('say what to set, such as --retention 7d');
    const db = await context.database();
    await setQueue(db, name, settings);
    const queues = await listQueues(db, name);
    await context.output.answer(queues[0], async (screen) => {
      const { formatQueues } = await import('../../format-queues.ts');
      return formatQueues(queues, screen);
    });
  },
};

function settingsOf(options: SetOptions): QueueSettings {
  const { retention, deadRetention, errorsRetention, expires, maxAttempts, timeout } = options;
  return {
    ...setting('retention', retention, (text) => period(text, '--retention')),
    ...setting('dead_retention', deadRetention, deadPeriod),
    ...setting('errors_retention', errorsRetention, (text) => period(text, '--errors-retention')),
    ...setting('expires_ms', expires, (text) => someTime(text, '--expires')),
    ...setting('max_attempts', maxAttempts, (text) => parseMaxAttempts(text, '--max-attempts')),
    ...setting('timeout_ms', timeout, (text) => someTime(text, '--timeout')),
  };
}

function setting<Key extends keyof QueueSettings>(
  key: Key,
  text: string | undefined,
  parse: (text: string) => QueueSettings[Key],
): QueueSettings {
  if (text === undefined) return {};
  return { [key]: text === 'default' ? null : parse(text) };
}

function period(text: string, flag: string): string {
  try {
    return parseRetention(text);
  } catch (error) {
    if (!(error instanceof TaskqError)) throw error;
    throw badOption(
      `${flag} ${JSON.stringify(text)}: expected none, ever, default, or whole days such as 7d`,
    );
  }
}

/** A dead letter is one for somebody to decide on: without any time to do it there would be none. */
function deadPeriod(text: string): string {
  const days = text === 'none' ? null : period(text, '--dead-retention');
  if (days !== null) return days;
  throw badOption('--dead-retention "none": expected ever, default, or whole days such as 90d');
}

function someTime(text: string, flag: string): number {
  const ms = parseDuration(text, flag);
  if (ms > 0) return ms;
  throw badOption(`${flag} ${JSON.stringify(text)}: expected more than 0`);
}
