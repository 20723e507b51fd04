import { checkedName } from '../../../domain/names.ts';
import { addTypes } from '../../../queue/add-types.ts';
import type { CliCommand } from '../../command.ts';

/** `taskq types add`: make types known. */
export const typesAdd: CliCommand = {
  declare(command) {
    command.argument('<types...>', 'names of the types').addHelpText(
      'after',
      `
Enqueueing a task of an unknown type fails, because the name is probably mistyped. A worker registers the types it has
handlers for when it starts; add a type to enqueue its tasks before that.`,
    );
  },
  async run(context, { args }) {
    const names = args.map((name) => checkedName('type', name));
    const types = await addTypes(await context.database(), names);
    await context.output.answer({ types }, () =>
      types.map(({ name, added }) => `${name} ${added ? 'added' : 'is known already'}`).join('\n'),
    );
  },
};
