import type { CliCommand } from '../../run/command.ts';
import { embeddedOptions } from '../../run/embedded-database.ts';

/** `taskq db stop`: stop the server, even while clients are connected. */
export const dbStop: CliCommand = {
  async run(context) {
    const { stopEmbedded } = await import('../../../embedded/stop.ts');
    const stopped = await stopEmbedded(embeddedOptions((await context.config()).values));
    await context.output.answer({ stopped: stopped === 'stopped' }, () =>
      stopped === 'stopped' ? 'stopped the local PostgreSQL' : 'the local PostgreSQL was not running',
    );
  },
};
