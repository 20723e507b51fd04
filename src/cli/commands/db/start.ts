import type { CliCommand } from '../../run/command.ts';

/** `taskq db start`: the server, and this project's database in it, migrated. */
export const dbStart: CliCommand = {
  async run(context) {
    const { openEmbeddedDatabase } = await import('../../run/embedded-database.ts');
    const { migrateIfDue } = await import('../../run/migrate-if-due.ts');
    const { describeServer, formatServer } = await import('../../run/describe-server.ts');
    const { server, database, url } = await openEmbeddedDatabase({
      cwd: context.cwd,
      output: context.output,
      config: (await context.config()).values,
    });
    await migrateIfDue(url);
    const described = describeServer(server, database);
    await context.output.answer(described, (screen) => formatServer(described, screen));
  },
};
