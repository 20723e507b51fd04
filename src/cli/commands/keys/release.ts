import { checkedName } from '../../../domain/names.ts';
import { EXIT } from '../../../lib/errors.ts';
import { type KeyRelease, releaseKey } from '../../../queue/keys.ts';
import type { CliCommand } from '../../command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../operator.ts';
import { printable } from '../../printable.ts';

interface ReleaseOptions extends ActingOptions {
  readonly queue?: string;
}

/** `taskq keys release` */
export const keysRelease: CliCommand<ReleaseOptions> = {
  declare(command) {
    declareActing(command.argument('<keys...>', 'the keys'))
      .option('--queue <queue>', 'their queue (default)')
      .addHelpText(
        'after',
        `
From then on a task can be enqueued with the key again. Where a live task has it, it is free when that has ended.`,
      );
  },
  async run(context, { args, options }) {
    const queue = checkedName('queue', options.queue ?? 'default');
    const names = args.map((key) => checkedName('key', key));
    const by = await actingOf(options);
    const db = await context.database();
    const keys: { queue: string; key: string; answer: KeyRelease }[] = [];
    for (const key of new Set(names))
      keys.push({ queue, key, answer: await releaseKey(db, { queue, key }, { by }) });
    await context.output.answer({ keys }, () =>
      keys
        .filter(({ answer }) => answer !== 'not_held')
        .map(
          ({ key, answer }) =>
            `${printable(key)} ${answer === 'live' ? 'is free when its task has ended' : 'is free'}`,
        )
        .join('\n'),
    );
    const missing = keys.filter(({ answer }) => answer === 'not_held');
    if (context.output.format === 'text')
      for (const { key } of missing) context.output.complain(`taskq: ${printable(key)} is not held`);
    return missing.length === 0 ? EXIT.done : EXIT.failed;
  },
};
