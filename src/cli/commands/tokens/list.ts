import { listTokens } from '../../../queue/inspect/list-tokens.ts';
import type { CliCommand } from '../../run/command.ts';

/** `taskq tokens list` */
export const tokensList: CliCommand = {
  async run(context) {
    const tokens = await listTokens(await context.database());
    await context.output.answer({ tokens }, async (screen) => {
      const { formatTokens } = await import('../../present/format-tokens.ts');
      return formatTokens(tokens, screen);
    });
    if (tokens.length === 0 && context.output.format !== 'json')
      context.output.talk('no tokens: taskq tokens add makes one');
  },
};
