import { resumeWorker } from '../../../queue/pause-worker.ts';
import { actOnWorkers, ended, hearing } from '../../act-on-workers.ts';
import type { CliCommand } from '../../command.ts';

/** `taskq workers resume`: they claim again. */
export const workersResume: CliCommand = {
  declare(command) {
    command.argument('<workers...>', 'their numbers, or their full names');
  },
  async run(context, { args }) {
    const db = await context.database();
    return actOnWorkers(context, args, async (worker) => {
      if (worker.stopped_at !== null) return ended(worker);
      return (await resumeWorker(db, worker.id))
        ? { answer: 'resumed', said: `claims again${hearing(worker)}` }
        : { answer: 'not_paused', said: 'is not paused' };
    });
  },
};
