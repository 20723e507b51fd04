import { TaskqError } from '../../../lib/errors.ts';
import type { CliCommand } from '../../run/command.ts';
import { embeddedOptions } from '../../run/embedded-database.ts';

/** `taskq db url`: for `psql "$(taskq db url)"`. */
export const dbUrl: CliCommand = {
  async run(context) {
    const { embeddedStatus } = await import('../../../embedded/status.ts');
    const { projectDatabase } = await import('../../../embedded/project-database.ts');
    const server = await embeddedStatus(embeddedOptions((await context.config()).values));
    if (server === undefined) {
      throw new TaskqError('not_running', 'the local PostgreSQL is not running', {
        hint: 'run taskq db start',
      });
    }
    const url = server.url(projectDatabase(context.cwd));
    await context.output.answer({ url }, () => url);
  },
};
