import { checkedOperationId } from '../../../domain/task-id.ts';
import { showOperation } from '../../../queue/inspect/list-operations.ts';
import { noSuchOperation } from '../../operations/no-such-operation.ts';
import type { CliCommand } from '../../run/command.ts';
import { firstOf, noteWaits } from '../../select/note-waits.ts';

/** `taskq operations show`: an operation, how far it is, and what failed. */
export const operationsShow: CliCommand = {
  declare(command) {
    command.argument('<id>', 'id of the operation');
  },
  async run(context, { args }) {
    const id = checkedOperationId(args[0]!);
    const operation = await showOperation(await context.database(), id);
    if (operation === undefined) throw noSuchOperation(id);
    await context.output.answer(operation, async (screen) => {
      const { formatOperation } = await import('../../present/format-operation.ts');
      return formatOperation(operation, screen);
    });
    await noteWaits(context, firstOf(operation.waits_for ?? []), 'awaited');
  },
};
