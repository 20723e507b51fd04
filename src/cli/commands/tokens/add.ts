import { randomBytes } from 'node:crypto';
import { Option } from 'commander';
import { badOption } from '../../../lib/bad-option.ts';
import { parseDuration } from '../../../lib/duration.ts';
import { addToken } from '../../../queue/operate/tokens.ts';
import { ROLES, type Role } from '../../../server/caller.ts';
import { hashOf, TOKEN_PREFIX } from '../../../server/token.ts';
import type { CliCommand } from '../../run/command.ts';
import { type ActingOptions, actingOf, declareActing } from '../../run/operator.ts';

interface AddOptions extends ActingOptions {
  readonly role: Role;
  readonly queues?: string;
  readonly expires?: string;
}

/** `taskq tokens add`: a new token. */
export const tokensAdd: CliCommand<AddOptions> = {
  declare(command) {
    declareActing(command.argument('<name>', 'who it is for'))
      .addOption(new Option('--role <role>', 'what it may do').choices(ROLES).default('viewer'))
      .option('--queues <patterns>', 'only for these queues, such as mail-*,reports (all)')
      .option('--expires <duration>', 'valid for this long (forever)')
      .addHelpText(
        'after',
        `
Roles: viewer reads; producer also enqueues; operator also acts on tasks, queues and workers; admin also changes settings
and tokens. The token is printed once; the database keeps its hash only.`,
      );
  },
  async run(context, { args, options }) {
    const name = args[0]!;
    const queues = options.queues?.split(',').map((pattern) => pattern.trim());
    if (queues?.includes('')) throw badOption('--queues: expected names such as mail-*,reports');
    const expiresMs = options.expires === undefined ? undefined : parseDuration(options.expires, '--expires');
    const token = `${TOKEN_PREFIX}${randomBytes(32).toString('base64url')}`;
    const acting = await actingOf(options);
    const added = await addToken(
      await context.database(),
      { name, hash: hashOf(token), role: options.role, queues, expiresMs },
      acting,
    );
    if (!added)
      throw badOption(`there is a token ${JSON.stringify(name)}`, 'revoke it first, or use another name');
    await context.output.answer({ name, token }, () => token);
  },
};
