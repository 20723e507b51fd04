import { SETTINGS } from '../../../config/settings.ts';
import { checkedName } from '../../../domain/names.ts';
import { badOption } from '../../../lib/bad-option.ts';
import { setWorker, type WorkerSettings } from '../../../queue/operate/set-worker.ts';
import { durationText } from '../../present/settings-text.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { actOnWorkers, delayNote, ended } from '../../select/act-on-workers.ts';
import { noteUnusedQueues, unknownQueues } from '../../select/misspelt.ts';

interface SetOptions extends ActingOptions {
  readonly concurrency?: string;
  readonly poll?: string;
  readonly lease?: string;
  readonly batch?: string;
  readonly queues?: string;
  readonly allQueues?: true;
}

/** `taskq workers set`: change workers while they run. */
export const workersSet: CliCommand<SetOptions> = {
  suggestions: { batch: ['auto'] },
  declare(command) {
    declareActing(command.argument('<workers...>', 'ids or names of the workers'))
      .option('--concurrency <n>', 'tasks to run at a time; running tasks above that may finish')
      .option('--poll <duration>', 'how often to look for tasks while idle')
      .option('--lease <duration>', 'how long a claimed task is held without a heartbeat')
      .option('--batch <auto|n>', 'tasks per claim; auto adapts to how fast they finish')
      .option('--queues <a,b>', 'serve only these queues')
      .option('--all-queues', 'serve every queue')
      .addHelpText(
        'after',
        `
Changes last until the worker ends; a new worker starts with its own settings. Heartbeats come at least every third of
the lease. A new lease is in force when every task the worker holds has been renewed with it: the worker logs
lease.changed, and taskq workers --json shows it as lease_ms (until then as wanted_lease_ms).`,
      );
  },
  async run(context, { args, options }) {
    const settings = settingsOf(options);
    if (Object.keys(settings).length === 0)
      throw badOption('nothing to set: give an option such as --concurrency 4');
    const acting = await actingOf(options);
    const db = await context.database();
    const code = await actOnWorkers(context, args, async (worker) =>
      (await setWorker(db, worker.id, settings, acting))
        ? { answer: 'set', text: `${describe(settings)}${delayNote(worker)}` }
        : ended(worker),
    );
    if (settings.queues) await noteUnusedQueues(context.output, db, await unknownQueues(db, settings.queues));
    return code;
  },
};

function settingsOf({ concurrency, poll, lease, batch, queues, allQueues }: SetOptions): WorkerSettings {
  if (queues !== undefined && allQueues) throw badOption('give either --queues or --all-queues, not both');
  return {
    ...(concurrency !== undefined && { concurrency: settingValue('concurrency', concurrency) }),
    ...(poll !== undefined && { poll_ms: settingValue('pollMs', poll) }),
    ...(lease !== undefined && { lease_ms: settingValue('leaseMs', lease) }),
    ...(batch !== undefined && { batch: batch === 'auto' ? batch : settingValue('batch', batch) }),
    ...(queues !== undefined && { queues: queuesOf(queues) }),
    ...(allQueues && { queues: null }),
  };
}

/** Read a value as at the start of a worker. */
function settingValue(field: 'concurrency' | 'pollMs' | 'leaseMs' | 'batch', text: string): number {
  const { flag, expects, parse } = SETTINGS[field];
  const value = parse(text);
  if (typeof value === 'number') return value;
  throw badOption(`${flag} ${JSON.stringify(text)}: expected ${expects}`);
}

function queuesOf(text: string): readonly string[] {
  const names = SETTINGS.queues.parse(text);
  if (names === undefined || names === null || names.length === 0)
    throw badOption(`--queues ${JSON.stringify(text)}: expected ${SETTINGS.queues.expects}`);
  return names.map((name) => checkedName('queue', name, '--queues'));
}

function describe({ concurrency, poll_ms, lease_ms, batch, queues }: WorkerSettings): string {
  const parts = [
    ...(concurrency === undefined ? [] : [`runs ${concurrency} at a time`]),
    ...(poll_ms === undefined ? [] : [`looks every ${durationText(poll_ms)}`]),
    ...(lease_ms === undefined ? [] : [`holds tasks for ${durationText(lease_ms)}`]),
    ...(batch === undefined
      ? []
      : [`claims ${batch === 'auto' ? 'as many as will start soon' : `${batch} at once`}`]),
    ...(queues === undefined ? [] : [`serves ${queues === null ? 'every queue' : queues.join(', ')}`]),
  ];
  return parts.join(', ');
}
