import { EXIT } from '../../../lib/errors.ts';
import type { CliCommand } from '../../run/command.ts';
import type { Context } from '../../run/context.ts';
import { embeddedOptions } from '../../run/embedded-database.ts';
import { confirm } from '../../select/confirm.ts';

interface ResetOptions {
  readonly server?: true;
  readonly yes?: true;
}

/** `taskq db reset`: delete this project's tasks, or with --server those of every project of this user. */
export const dbReset: CliCommand<ResetOptions> = {
  declare(command) {
    command
      .option('--server', 'delete the whole local server, with the databases of all your projects')
      .option('--yes', 'do not ask for confirmation');
  },
  async run(context, { options }) {
    return options.server ? resetServer(context, options) : resetDatabase(context, options);
  },
};

async function resetServer(context: Context, { yes }: ResetOptions): Promise<number> {
  const embedded = await import('../../../embedded/reset.ts');
  if (!yes) await confirm(context, 'delete the local PostgreSQL with the tasks of all your projects');
  const answer = await embedded.resetServer(embeddedOptions((await context.config()).values));
  const deleted = answer === 'deleted';
  await context.output.answer({ deleted, database: null }, () =>
    deleted
      ? 'deleted the local PostgreSQL; taskq db start creates a new one'
      : 'there is no local PostgreSQL',
  );
  return EXIT.done;
}

async function resetDatabase(context: Context, { yes }: ResetOptions): Promise<number> {
  const { dropDatabase } = await import('../../../embedded/databases.ts');
  const { dataDirectories } = await import('../../../embedded/data-directory.ts');
  const { layoutOf } = await import('../../../embedded/layout.ts');
  const { projectDatabase } = await import('../../../embedded/project-database.ts');
  const { startEmbedded } = await import('../../../embedded/start.ts');
  const database = projectDatabase(context.cwd);
  if (!yes) await confirm(context, `delete the local database ${database} with all its tasks`);
  const options = embeddedOptions((await context.config()).values);
  const isThere = (await dataDirectories(layoutOf(options.stateDir))).length > 0;
  const deleted = isThere && (await dropDatabase(await startEmbedded(options), database)) === 'dropped';
  await context.output.answer({ deleted, database }, () =>
    deleted ? `deleted the local database ${database}` : `there is no local database ${database}`,
  );
  return EXIT.done;
}
