import { listTypes } from '../../../queue/inspect/list-types.ts';
import type { CliCommand } from '../../run/command.ts';

/** `taskq types list`: the known types. */
export const typesList: CliCommand = {
  declare(command) {
    command.addHelpText('after', COLUMNS);
  },
  async run(context) {
    const types = await listTypes(await context.database());
    await context.output.answer({ types }, async (screen) => {
      const { formatTypes } = await import('../../present/format-types.ts');
      return formatTypes(types, screen);
    });
    if (context.output.format === 'json') return;
    if (types.length === 0) context.output.talk('no types: a worker registers those it has handlers for');
    else if (types[0]!.at_least)
      context.output.talk('counting all waiting tasks took too long; taskq stats counts them');
  },
};

const COLUMNS = `
Columns:
  WAITING     pending and blocked tasks; ≥ n if counting them took too long
  HANDLED BY  live workers with a handler for the type
  ATTEMPTS    and the columns after it: options of the type, set by taskq types set, else by a worker; - is not set
  BREAKER     failures within a time that stop the type; of an open breaker since when, and what ends it
  LOG         of which attempts the last lines of their log are kept; -: of those that did not complete
  THEN        types of tasks that follow one that completes or, after dead:, one that dies
  LAST SEEN   when a worker with a handler for it was last live`;
