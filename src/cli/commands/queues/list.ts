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
  WAITING    pending and blocked tasks; ≥ n if counting them took too long
  ATTEMPTS   and the columns after it: what taskq queues set has set; - is not set, so the defaults apply
  ERRORS     how long errors of attempts are kept (--errors-retention)
  DEAD       how long dead letters are kept (--dead-retention)
  LIMITS     how many tasks run at once (--max-running), and at what rate they start, plus the burst (--rate, --burst)
  GROUPS     the same for each of its groups (--group-limit, --group-rate, --group-burst), and the other --group options
  ENQUEUES   the queues that its handlers may enqueue into (--may-enqueue)
  FAILURE    what happens when the last attempt fails (--on-failure)
  LEASES     how many workers a task may lose (--max-losses), and whether claims are recorded (--record-leases)
  EVENTS     whether ends are recorded for taskq events (--record-events)
  PAUSE      until when it is paused, by whom, and why`;
