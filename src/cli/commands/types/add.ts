import { checkedName } from '../../../domain/names.ts';
import { addTypes } from '../../../queue/add-types.ts';
import type { CliCommand } from '../../command.ts';

/** `taskq types add`: make types known. */
export const typesAdd: CliCommand = {
  declare(command) {
    command.argument('<types...>', 'their names').addHelpText(
      'after',
      `
A task of an unknown type is refused when it is enqueued: most likely its name is mistyped. A worker makes the types
known that it has handlers for; add those whose tasks come before the first worker does.`,
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
