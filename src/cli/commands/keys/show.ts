import { checkedName } from '../../../domain/names.ts';
import { TaskqError } from '../../../lib/errors.ts';
import { listKeys } from '../../../queue/operate/keys.ts';
import { findByKey } from '../../../queue/protocol/find-by-key.ts';
import { printable } from '../../present/printable.ts';
import { localTime } from '../../present/times.ts';
import type { CliCommand } from '../../run/command.ts';
import { noteUnusedQueues, unknownQueues } from '../../select/misspelt.ts';

/** `taskq keys show` */
export const keysShow: CliCommand<{ readonly queue?: string }> = {
  declare(command) {
    command.argument('<key>', 'the key').option('--queue <queue>', 'queue of the key (default)');
  },
  async run(context, { args, options }) {
    const queue = checkedName('queue', options.queue ?? 'default', '--queue');
    const key = checkedName('key', args[0]!);
    const db = await context.database();
    const taskId = await findByKey(db, queue, key);
    if (taskId === undefined) {
      await noteUnusedQueues(context.output, db, await unknownQueues(db, [queue]));
      throw new TaskqError(
        'not_held',
        `no task holds the key ${printable(JSON.stringify(key))} of the queue ${printable(queue)}`,
      );
    }
    const [held] = await listKeys(db, { queue, key }, 1);
    const until = held === undefined ? 'its_end' : (held.until ?? 'ever');
    await context.output.answer({ queue, key, task_id: taskId, until }, () => {
      const period =
        until === 'its_end' ? 'while it lives' : until === 'ever' ? 'forever' : `until ${localTime(until)}`;
      return `task ${taskId} holds it ${period}`;
    });
  },
};
