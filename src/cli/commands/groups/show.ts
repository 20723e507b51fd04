import { checkedName } from '../../../domain/names.ts';
import { showGroup } from '../../../queue/inspect/show-group.ts';
import type { CliCommand } from '../../run/command.ts';
import { noteUnusedQueues, unknownQueues } from '../../select/misspelt.ts';

/** `taskq groups show`: one group, with what stops it and its tasks. */
export const groupsShow: CliCommand = {
  declare(command) {
    command
      .argument('<queue>', 'queue of the group')
      .argument('<group>', 'its name')
      .addHelpText('after', ABOUT);
  },
  async run(context, { args }) {
    const queue = checkedName('queue', args[0]!);
    const group = checkedName('group', args[1]!);
    const db = await context.database();
    const shown = await showGroup(db, queue, group);
    await context.output.answer(shown, async (screen) => {
      const { formatGroup } = await import('../../present/format-group.ts');
      return formatGroup(shown, screen);
    });
    if (shown.holding + shown.waiting + shown.delayed === 0) {
      await noteUnusedQueues(context.output, db, await unknownQueues(db, [queue]));
      context.output.talk('this group has no live task');
    }
  },
};

const ABOUT = `
Shows the settings that apply to the group and where they come from, what stops it (a pause, a dead letter, or a task
that snoozed it), the tasks that have its slots, and those that get the next ones: at most ten of each.`;
