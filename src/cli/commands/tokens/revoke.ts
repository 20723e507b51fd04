import { EXIT } from '../../../lib/errors.ts';
import { revokeToken } from '../../../queue/operate/tokens.ts';
import { printable } from '../../present/printable.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';

/** `taskq tokens revoke`: requests with these tokens are refused from now on. */
export const tokensRevoke: CliCommand<ActingOptions> = {
  declare(command) {
    declareActing(command.argument('<names...>', 'names of the tokens'));
  },
  async run(context, { args, options }) {
    const acting = await actingOf(options);
    const db = await context.database();
    const tokens: { name: string; revoked: boolean }[] = [];
    for (const name of new Set(args)) tokens.push({ name, revoked: await revokeToken(db, name, acting) });
    await context.output.answer({ tokens }, () =>
      tokens
        .map(({ name, revoked }) => `${printable(name)} ${revoked ? 'is revoked' : 'does not exist'}`)
        .join('\n'),
    );
    return tokens.every(({ revoked }) => revoked) ? EXIT.done : EXIT.failed;
  },
};
