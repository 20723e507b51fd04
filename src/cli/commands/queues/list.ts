import { listQueues } from '../../../queue/inspect/list-queues.ts';
import type { CliCommand } from '../../run/command.ts';

/** `taskq queues list`: queues that have tasks, settings or a pause. */
export const queuesList: CliCommand = {
  declare(command) {
    command.addHelpText('after', COLUMNS);
  },
  async run(context) {
    const queues = await listQueues(await context.database());
    await context.output.answer({ queues }, async (screen) => {
      const { formatQueues } = await import('../../present/format-queues.ts');
      return formatQueues(queues, screen);
    });
    if (context.output.format === 'json') return;
    if (queues.length === 0)
      context.output.talk('no queue has a live task, a dead letter, a setting or a pause');
    else if (queues[0]!.at_least)
      context.output.talk('counting all waiting tasks took too long; taskq stats counts them');
  },
};

const COLUMNS = `
Columns:
  WAITING    pending tasks; ≥ n if counting them took too long
  ATTEMPTS   and the columns after it: what taskq queues set has set; - is not set, so the defaults apply
  ERRORS     how long errors of attempts are kept (--errors-retention)
  DEAD       how long dead letters are kept (--dead-retention)`;
