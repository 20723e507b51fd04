import { checkedName } from '../../../domain/names.ts';
import { parseDuration } from '../../../lib/duration.ts';
import { didYouMean } from '../../../lib/nearest.ts';
import { hasHadTasks } from '../../../queue/has-had-tasks.ts';
import { listQueues } from '../../../queue/list-queues.ts';
import { pauseQueue } from '../../../queue/pause-queue.ts';
import type { CliCommand } from '../../command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../operator.ts';
import { pauseText } from '../../pause-text.ts';
import { printable } from '../../printable.ts';
import { badOption } from '../../task-filter.ts';

interface PauseOptions extends ActingOptions {
  readonly reason?: string;
  readonly for?: string;
}

/** `taskq queues pause`: nothing of the queue starts. */
export const queuesPause: CliCommand<PauseOptions> = {
  declare(command) {
    declareActing(command.argument('<queue>', 'its name'))
      .option('--reason <text>', 'why, for those who look at the queue later')
      .option('--for <duration>', 'until so long from now; else until it is resumed')
      .addHelpText(
        'after',
        `
What runs, runs on. What workers have claimed ahead waits again, no attempt burned. Tasks can be enqueued meanwhile.
Pausing again replaces who, why and until when.`,
      );
  },
  async run(context, { args, options }) {
    const name = checkedName('queue', args[0]!);
    const forMs = options.for === undefined ? null : parseDuration(options.for, '--for');
    if (forMs === 0) throw badOption('--for 0s: expected more than 0');
    const db = await context.database();
    const others = await listQueues(db);
    await pauseQueue(db, name, {
      by: await actingOf(options),
      reason: options.reason?.trim() || null,
      forMs,
    });
    if (!others.some((queue) => queue.name === name) && (await hasHadTasks(db, name)) === false) {
      const hint = didYouMean(
        name,
        others.map((queue) => queue.name),
      );
      context.output.talk(`queue ${printable(JSON.stringify(name))} has had no task so far${hint}`);
    }
    const [queue] = await listQueues(db, name);
    await context.output.answer(queue, (screen) => `${printable(name)} is ${pauseText(queue!, screen.now)}`);
  },
};
