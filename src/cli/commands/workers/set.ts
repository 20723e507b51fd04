import { SETTINGS } from '../../../config/settings.ts';
import { checkedName } from '../../../domain/names.ts';
import { setWorker, type WorkerSettings } from '../../../queue/set-worker.ts';
import { actOnWorkers, ended, hearing } from '../../act-on-workers.ts';
import type { CliCommand } from '../../command.ts';
import { durationText } from '../../settings-text.ts';
import { badOption } from '../../task-filter.ts';

interface SetOptions {
  readonly concurrency?: string;
  readonly poll?: string;
  readonly queues?: string;
  readonly allQueues?: true;
}

/** `taskq workers set`: change them while they run. */
export const workersSet: CliCommand<SetOptions> = {
  declare(command) {
    command
      .argument('<workers...>', 'their numbers or names')
      .option('--concurrency <n>', 'tasks to run at a time; what runs above that may finish')
      .option('--poll <duration>', 'how often to look for tasks when there are none')
      .option('--queues <a,b>', 'serve only these queues')
      .option('--all-queues', 'serve every queue')
      .addHelpText(
        'after',
        `
It holds for as long as the worker runs; the next one is started with its own settings again.`,
      );
  },
  async run(context, { args, options }) {
    const settings = settingsOf(options);
    if (Object.keys(settings).length === 0) throw badOption('say what to set, such as --concurrency 4');
    const db = await context.database();
    return actOnWorkers(context, args, async (worker) =>
      (await setWorker(db, worker.id, settings))
        ? { answer: 'set', said: `${sayOf(settings)}${hearing(worker)}` }
        : ended(worker),
    );
  },
};

function settingsOf({ concurrency, poll, queues, allQueues }: SetOptions): WorkerSettings {
  if (queues !== undefined && allQueues) throw badOption('give either --queues or --all-queues');
  return {
    ...(concurrency !== undefined && { concurrency: settingValue('concurrency', concurrency) }),
    ...(poll !== undefined && { poll_ms: settingValue('pollMs', poll) }),
    ...(queues !== undefined && { queues: queuesOf(queues) }),
    ...(allQueues && { queues: null }),
  };
}

/** As for a worker that is started. */
function settingValue(field: 'concurrency' | 'pollMs', text: string): number {
  const { flag, expects, parse } = SETTINGS[field];
  const value = parse(text);
  if (typeof value === 'number') return value;
  throw badOption(`${flag} ${JSON.stringify(text)}: expected ${expects}`);
}

function queuesOf(text: string): readonly string[] {
  const names = SETTINGS.queues.parse(text);
  if (names === undefined || names === null || names.length === 0)
    throw badOption(`--queues ${JSON.stringify(text)}: expected ${SETTINGS.queues.expects}`);
  return names.map((name) => checkedName('queue', name));
}

function sayOf({ concurrency, poll_ms, queues }: WorkerSettings): string {
  const parts = [
    ...(concurrency === undefined ? [] : [`runs ${concurrency} at a time`]),
    ...(poll_ms === undefined ? [] : [`looks every ${durationText(poll_ms)}`]),
    ...(queues === undefined ? [] : [`serves ${queues === null ? 'every queue' : queues.join(', ')}`]),
  ];
  return parts.join(', ');
}
