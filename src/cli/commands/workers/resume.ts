import { resumeWorker } from '../../../queue/operate/pause-worker.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { actOnWorkers, delayNote, ended } from '../../select/act-on-workers.ts';

/** `taskq workers resume`: let paused workers claim again. */
export const workersResume: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<workers...>', 'ids or names of the workers'));
  },
  async run(context, { args, options }) {
    const acting = await actingOf(options);
    const db = await context.database();
    return actOnWorkers(context, args, async (worker) => {
      if (worker.stopped_at !== null) return ended(worker);
      return (await resumeWorker(db, worker.id, acting))
        ? { answer: 'resumed', text: `claims again${delayNote(worker)}` }
        : { answer: 'not_paused', text: 'is not paused' };
    });
  },
};
