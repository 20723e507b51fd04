import { pauseWorker } from '../../../queue/operate/pause-worker.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { actOnWorkers, delayNote, ended } from '../../select/act-on-workers.ts';

/** `taskq workers pause`: let workers claim nothing. */
export const workersPause: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<workers...>', 'ids or names of the workers')).addHelpText(
      'after',
      `
Running tasks continue. Tasks claimed ahead are given back to other workers.`,
    );
  },
  async run(context, { args, options }) {
    const db = await context.database();
    const acting = await actingOf(options);
    return actOnWorkers(context, args, async (worker) =>
      (await pauseWorker(db, worker.id, acting))
        ? { answer: 'paused', text: `claims nothing until resumed${delayNote(worker)}` }
        : ended(worker),
    );
  },
};
