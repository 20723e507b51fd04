import { checkedName } from '../../../domain/names.ts';
import { EXIT } from '../../../lib/errors.ts';
import { didYouMean } from '../../../lib/nearest.ts';
import { removeType, type TypeRemoval } from '../../../queue/operate/remove-type.ts';
import { knownTypes } from '../../../queue/protocol/known-types.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';

/** `taskq types remove`: make types unknown again. */
export const typesRemove: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<types...>', 'names of the types')).addHelpText(
      'after',
      `
New tasks of these types are refused, and options set for them are deleted. Existing tasks stay. A type that a live
worker handles is not removed, because the next worker to start would register it again.`,
    );
  },
  async run(context, { args, options }) {
    const names = args.map((name) => checkedName('type', name));
    const acting = await actingOf(options);
    const db = await context.database();
    const types: { name: string; answer: TypeRemoval }[] = [];
    for (const name of new Set(names)) types.push({ name, answer: await removeType(db, name, acting) });
    const isRefused = ({ answer }: { answer: TypeRemoval }) => answer !== 'removed';
    await context.output.answer({ types }, () =>
      types
        .filter((type) => !isRefused(type))
        .map(({ name }) => `${printable(name)} removed`)
        .join('\n'),
    );
    const refused = types.filter(isRefused);
    if (context.output.format === 'text' && refused.length > 0) {
      const known = await knownTypes(db);
      for (const { name, answer } of refused) {
        const why =
          answer === 'handled' ? 'is handled by a live worker' : `is not known${didYouMean(name, known)}`;
        context.output.complain(`taskq: ${printable(`${name} ${why}`)}`);
      }
    }
    return refused.length === 0 ? EXIT.done : EXIT.failed;
  },
};
