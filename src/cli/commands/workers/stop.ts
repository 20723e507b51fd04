import { stopWorker } from '../../../queue/operate/stop-worker.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { actOnWorkers, delayNote, ended } from '../../select/act-on-workers.ts';

/** `taskq workers stop`: let workers drain and exit 0. */
export const workersStop: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<workers...>', 'ids or names of the workers')).addHelpText(
      'after',
      `
Like SIGTERM: the worker stops claiming, lets running tasks finish within its grace, gives the rest back and exits
with 0. Whether a new worker starts is up to its supervisor.`,
    );
  },
  async run(context, { args, options }) {
    const db = await context.database();
    const acting = await actingOf(options);
    return actOnWorkers(context, args, async (worker) => {
      if (await stopWorker(db, worker.id, acting))
        return { answer: 'asked', text: `was asked to stop${delayNote(worker)}` };
      // An ended worker is the wanted result.
      return { ...ended(worker), answer: 'stopped' };
    });
  },
};
