import { checkedName } from '../../../domain/names.ts';
import { badOption } from '../../../lib/bad-option.ts';
import { parseDuration } from '../../../lib/duration.ts';
import { listQueues } from '../../../queue/inspect/list-queues.ts';
import { pauseQueue } from '../../../queue/operate/pause-queue.ts';
import { pauseText } from '../../present/pause-text.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActor } from '../../run/operator.ts';
import { noteUnusedQueues } from '../../select/misspelt.ts';

interface PauseOptions extends ActingOptions {
  readonly reason?: string;
  readonly for?: string;
}

/** `taskq queues pause`: start no more tasks of the queue. */
export const queuesPause: CliCommand<PauseOptions> = {
  declare(command) {
    declareActor(command.argument('<queue>', 'its name'))
      .option('--reason <text>', 'reason for the record, shown with the queue')
      .option('--for <duration>', 'resume automatically after this time')
      .addHelpText(
        'after',
        `
Running tasks continue. Tasks that workers have claimed ahead are given back, with no attempt counted. New tasks can be
enqueued. Pausing a paused queue replaces the name, the reason and the end of the pause.`,
      );
  },
  async run(context, { args, options }) {
    const name = checkedName('queue', args[0]!);
    const forMs = options.for === undefined ? null : parseDuration(options.for, '--for');
    if (forMs === 0) throw badOption('--for 0s: expected more than 0');
    const db = await context.database();
    // Pause first: counting tasks takes up to half a second.
    const isNew = await pauseQueue(db, name, {
      ...(await actingOf(options)),
      reason: options.reason?.trim() || null,
      forMs,
    });
    if (isNew) await noteUnusedQueues(context.output, db, [name]);
    const [queue] = await listQueues(db, { name });
    await context.output.answer(queue, (screen) => `${printable(name)} is ${pauseText(queue!, screen.now)}`);
  },
};
