import { checkedName } from '../../../domain/names.ts';
import { nearest } from '../../../lib/nearest.ts';
import { addTypes } from '../../../queue/operate/add-types.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';
import { acceptedTypes, newTypeNote } from '../../select/misspelt.ts';

/** `taskq types add`: make types known. */
export const typesAdd: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<types...>', 'names of the types')).addHelpText(
      'after',
      `
Enqueueing a task of an unknown type fails, because the name is probably mistyped. A worker registers the types it has
handlers for when it starts; add a type to enqueue its tasks before that.`,
    );
  },
  async run(context, { args, options }) {
    const names = args.map((name) => checkedName('type', name));
    const acting = await actingOf(options);
    const accepted = await acceptedTypes(context);
    const types = await addTypes(await context.database(), names, acting);
    const unknown = names.filter((name) => !accepted.includes(name) && nearest(name, accepted).length > 0);
    for (const name of new Set(unknown)) context.output.talk(newTypeNote(name, accepted));
    await context.output.answer({ types }, () =>
      types.map(({ name, added }) => `${name} ${added ? 'added' : 'is known already'}`).join('\n'),
    );
  },
};
