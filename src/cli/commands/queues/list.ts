import { listQueues } from '../../../queue/list-queues.ts';
import type { CliCommand } from '../../command.ts';

/** `taskq queues list`: queues that have tasks, settings or a pause. */
export const queuesList: CliCommand = {
  async run(context) {
    const queues = await listQueues(await context.database());
    await context.output.answer({ queues }, async (screen) => {
      const { formatQueues } = await import('../../format-queues.ts');
      return formatQueues(queues, screen);
    });
    if (context.output.format === 'json') return;
    if (queues.length === 0) context.output.talk('no queue has a task, a setting or a pause');
    else if (queues[0]!.at_least)
      context.output.talk('there was no time to count all that wait: taskq stats does');
  },
};
