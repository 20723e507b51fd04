import { listTypes } from '../../../queue/list-types.ts';
import type { CliCommand } from '../../command.ts';

/** `taskq types list`: the known types. */
export const typesList: CliCommand = {
  async run(context) {
    const types = await listTypes(await context.database());
    await context.output.answer({ types }, async (screen) => {
      const { formatTypes } = await import('../../format-types.ts');
      return formatTypes(types, screen);
    });
    if (context.output.format === 'json') return;
    if (types.length === 0) context.output.talk('no types: a worker registers those it has handlers for');
    else if (types[0]!.at_least)
      context.output.talk('there was no time to count all that wait: taskq stats does');
  },
};
