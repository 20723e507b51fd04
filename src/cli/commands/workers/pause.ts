import { pauseWorker } from '../../../queue/pause-worker.ts';
import { actOnWorkers, ended, hearing } from '../../act-on-workers.ts';
import type { CliCommand } from '../../command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../operator.ts';

/** `taskq workers pause`: they claim nothing. */
export const workersPause: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<workers...>', 'their numbers or names')).addHelpText(
      'after',
      `
What they run, runs on; what they have claimed ahead waits again, for other workers.`,
    );
  },
  async run(context, { args, options }) {
    const db = await context.database();
    const by = await actingOf(options);
    return actOnWorkers(context, args, async (worker) =>
      (await pauseWorker(db, worker.id, by))
        ? { answer: 'paused', said: `claims nothing until it is resumed${hearing(worker)}` }
        : ended(worker),
    );
  },
};
