import { redactUrl } from '../../../lib/redact-url.ts';
import type { CliCommand } from '../../run/command.ts';
import { embeddedOptions } from '../../run/embedded-database.ts';

/** `taskq db status`: whether it runs, and where. Exits 0 either way. */
export const dbStatus: CliCommand = {
  async run(context) {
    const { embeddedStatus } = await import('../../../embedded/status.ts');
    const { projectDatabase } = await import('../../../embedded/project-database.ts');
    const { describeServer, formatServer } = await import('../../run/describe-server.ts');
    const { values } = await context.config();
    const server = await embeddedStatus(embeddedOptions(values));
    if (values.databaseUrl !== null)
      context.output.talk(`other commands use the configured database ${redactUrl(values.databaseUrl)}`);
    if (server === undefined) {
      await context.output.answer({ running: false }, () => 'not running: start it with taskq db start');
      return;
    }
    const described = describeServer(server, projectDatabase(context.cwd));
    await context.output.answer(described, (screen) => formatServer(described, screen));
  },
};
