import { listDeadGroups } from '../../../queue/inspect/list-dead-groups.ts';
import { formatDeadGroups } from '../../present/format-dead-groups.ts';
import type { CliCommand } from '../../run/command.ts';
import { parseLimit } from '../../select/task-filter.ts';

interface GroupsOptions {
  readonly limit: string;
}

/** `taskq dead groups`: how many dead letters each bug has made. */
export const deadGroups: CliCommand<GroupsOptions> = {
  declare(command) {
    command.option('--limit <n>', 'show at most n', '50').addHelpText(
      'after',
      `
The dead letters of a group have the same type and the same error, ignoring what differs between tasks: numbers, ids,
paths, quoted text. taskq dead list, revive and discard take the first digits of its --fingerprint.`,
    );
  },
  async run(context, { options }) {
    const limit = parseLimit(options.limit);
    const groups = await listDeadGroups(await context.database(), { limit });
    await context.output.answer({ groups }, (screen) => formatDeadGroups(groups, screen));
    if (groups.length === 0 && context.output.format === 'text') context.output.talk('no dead letters');
  },
};
