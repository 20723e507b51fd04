import { pauseWorker } from '../../../queue/pause-worker.ts';
import { actOnWorkers, ended, hearing } from '../../act-on-workers.ts';
import type { CliCommand } from '../../command.ts';
import { operatorName } from '../../operator.ts';

/** `taskq workers pause`: they claim nothing. */
export const workersPause: CliCommand = {
  declare(command) {
    command.argument('<workers...>', 'their numbers, or their full names').addHelpText(
      'after',
      `
What they run, runs on; what they have claimed ahead waits again, for other workers.`,
    );
  },
  async run(context, { args }) {
    const db = await context.database();
    const by = await operatorName();
    return actOnWorkers(context, args, async (worker) =>
      (await pauseWorker(db, worker.id, by))
        ? { answer: 'paused', said: `claims nothing until it is resumed${hearing(worker)}` }
        : ended(worker),
    );
  },
};
