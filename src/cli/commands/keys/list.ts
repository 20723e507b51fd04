import { checkedName } from '../../../domain/names.ts';
import { badOption } from '../../../lib/bad-option.ts';
import { type ListedKey, listKeys } from '../../../queue/operate/keys.ts';
import { formatKeys } from '../../present/format-keys.ts';
import type { CliCommand } from '../../run/command.ts';
import { noteUnusedQueues, unknownQueues } from '../../select/misspelt.ts';

interface ListOptions {
  readonly queue?: string;
  readonly limit?: string;
}

const PAGE = 1000;

/** `taskq keys list` */
export const keysList: CliCommand<ListOptions> = {
  declare(command) {
    command
      .option('--queue <queue>', 'only keys of this queue')
      .option('--limit <n>', 'show at most n (100)')
      .addHelpText(
        'after',
        `
Keys held only until their task ends are not listed; taskq list --key finds the task of such a key.`,
      );
  },
  async run(context, { options }) {
    const queue = options.queue === undefined ? undefined : checkedName('queue', options.queue, '--queue');
    const limit = options.limit === undefined ? 100 : Number(options.limit);
    if (!Number.isInteger(limit) || limit < 1)
      throw badOption(`--limit ${options.limit}: expected a number from 1 on`);
    const db = await context.database();
    const keys: ListedKey[] = [];
    for (let page: ListedKey[] = []; keys.length < limit; ) {
      page = await listKeys(db, { queue }, Math.min(PAGE, limit - keys.length), keys.at(-1));
      if (page.length === 0) break;
      keys.push(...page);
    }
    await context.output.answer({ keys }, (screen) => formatKeys(keys, screen));
    if (keys.length > 0) return;
    if (context.output.format === 'text') context.output.talk('no key is held beyond the end of its task');
    if (queue !== undefined) await noteUnusedQueues(context.output, db, await unknownQueues(db, [queue]));
  },
};
