import { badOption } from '../../../lib/bad-option.ts';
import type { Database } from '../../../lib/database.ts';
import { TaskqError } from '../../../lib/errors.ts';
import { type DeadGroup, listDeadGroups } from '../../../queue/inspect/list-dead-groups.ts';
import { type ShownTask, showTask } from '../../../queue/inspect/show-task.ts';
import { checkedFingerprint } from '../../../queue/inspect/task-filter.ts';
import type { CliCommand } from '../../run/command.ts';
import type { Screen } from '../../run/output.ts';
import { aroundDeadLetter } from '../../select/around-dead-letter.ts';
import { parseId } from '../../select/task-filter.ts';
import { noSuchTask } from '../show.ts';

interface ShowOptions {
  readonly fingerprint?: string;
}

/** `taskq dead show`: one dead letter with every error, or a group of them with its latest error. */
export const showDead: CliCommand<ShowOptions> = {
  declare(command) {
    command
      .argument('[id]', 'id of the task')
      .option(
        '--fingerprint <digits>',
        'show the group whose fingerprint starts with these digits (see taskq dead groups), and its latest dead letter',
      )
      .usage('[options] <id> | --fingerprint <digits>');
  },
  async run(context, { args: [given], options: { fingerprint } }) {
    if ((given === undefined) === (fingerprint === undefined))
      throw badOption('give either the id of a dead letter or --fingerprint');
    const named = given === undefined ? undefined : parseId(given);
    if (fingerprint !== undefined) checkedFingerprint(fingerprint, '--fingerprint');
    const db = await context.database();
    const group = fingerprint === undefined ? undefined : await groupOf(db, fingerprint);
    const task = await letterOf(db, named ?? group!.last_id);
    await context.output.answer(group === undefined ? task : { group, last: task }, async (screen) => {
      const letter = await textOf(db, task, screen);
      if (group === undefined) return letter;
      const { formatDeadGroups } = await import('../../present/format-dead-groups.ts');
      return `${formatDeadGroups([group], screen)}\n\nthe last of them:\n${letter}`;
    });
  },
};

async function groupOf(db: Database, fingerprint: string): Promise<DeadGroup> {
  const [group, other] = await listDeadGroups(db, { fingerprint, limit: 2 });
  if (group === undefined)
    throw new TaskqError('no_such_task', `no dead letter has a fingerprint that begins with ${fingerprint}`, {
      hint: 'see taskq dead groups',
    });
  if (other === undefined) return group;
  throw badOption(
    `--fingerprint ${fingerprint} is ambiguous: ${group.fingerprint}, ${other.fingerprint}`,
    'give more of its digits',
  );
}

async function letterOf(db: Database, id: string): Promise<ShownTask> {
  const task = await showTask(db, id);
  if (task === undefined) throw noSuchTask(id);
  if (task.status === 'dead') return task;
  throw new TaskqError('not_dead', `task ${id} is not a dead letter but ${task.status}`, {
    hint: `see taskq show ${id}`,
  });
}

async function textOf(db: Database, task: ShownTask, screen: Screen): Promise<string> {
  const { formatTask } = await import('../../present/format-task.ts');
  return formatTask(task, await aroundDeadLetter(db, task), screen);
}
