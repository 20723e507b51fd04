import { checkedName } from '../../../domain/names.ts';
import { EXIT } from '../../../lib/errors.ts';
import { type KeyRelease, releaseKey } from '../../../queue/operate/keys.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { noteUnusedQueues, unknownQueues } from '../../select/misspelt.ts';

interface ReleaseOptions extends ActingOptions {
  readonly queue?: string;
}

/** `taskq keys release` */
export const keysRelease: CliCommand<ReleaseOptions> = {
  declare(command) {
    declareActing(command.argument('<keys...>', 'keys to release'))
      .option('--queue <queue>', 'queue of the keys (default)')
      .addHelpText(
        'after',
        `
A new task can then use the key. If a live task holds it, the key becomes free when that task ends.`,
      );
  },
  async run(context, { args, options }) {
    const queue = checkedName('queue', options.queue ?? 'default', '--queue');
    const names = args.map((key) => checkedName('key', key));
    const acting = await actingOf(options);
    const db = await context.database();
    const keys: { queue: string; key: string; answer: KeyRelease }[] = [];
    for (const key of new Set(names))
      keys.push({ queue, key, answer: await releaseKey(db, { queue, key }, acting) });
    await context.output.answer({ keys }, () =>
      keys
        .filter(({ answer }) => answer !== 'not_held')
        .map(
          ({ key, answer }) =>
            `${printable(key)} ${answer === 'live' ? 'becomes free when its task ends' : 'is free'}`,
        )
        .join('\n'),
    );
    const missing = keys.filter(({ answer }) => answer === 'not_held');
    if (context.output.format === 'text')
      for (const { key } of missing) context.output.complain(`taskq: ${printable(key)} is not held`);
    if (missing.length > 0) await noteUnusedQueues(context.output, db, await unknownQueues(db, [queue]));
    return missing.length === 0 ? EXIT.done : EXIT.failed;
  },
};
