import type { Config } from '../../config/settings.ts';
import { checkedUrl } from '../../lib/checked-url.ts';
import { TaskqError } from '../../lib/errors.ts';
import { openEmbeddedDatabase } from './embedded-database.ts';
import { hasEnvFile } from './env-file.ts';
import type { Environment } from './environment.ts';
import { whyUnattended } from './is-interactive.ts';
import type { Output } from './output.ts';

export interface ChosenDatabase {
  readonly url: string;
  /**
   * A connection that bypasses a pooler, for LISTEN and migrate; the same as `url` unless the settings name another.
   */
  readonly directUrl: string;
  readonly kind: 'configured' | 'embedded';
}

export interface ChoiceOptions {
  readonly cwd: string;
  readonly env: Environment;
  readonly output: Output;
  readonly config: Config;
}

/**
 * Choose the database: a configured one always wins; else the embedded one, started and migrated, if it is requested or
 * the command runs at a terminal. Never a fallback: a container whose secret is missing must not start a throw-away
 * database. Throws TaskqError (exit 2) where neither applies.
 */
export async function chooseDatabase(options: ChoiceOptions): Promise<ChosenDatabase> {
  const { config, env } = options;
  if (config.databaseUrl !== null) {
    const url = checkedUrl('databaseUrl', config.databaseUrl);
    const directUrl = config.directUrl === null ? url : checkedUrl('directUrl', config.directUrl);
    return { url, directUrl, kind: 'configured' };
  }
  const asks = config.database === 'embedded';
  const unread = !asks && (await hasEnvFile(options.cwd)) ? UNREAD : undefined;
  const unattended = asks ? undefined : whyUnattended(env, process);
  if (unattended !== undefined) throw nothingConfigured(unattended, unread);
  const { server, database, url } = await openEmbeddedDatabase(options);
  const { userName } = await import('../../embedded/account.ts');
  const user = await userName(process.getuid?.() ?? -1);
  options.output.talk(`using the local PostgreSQL ${server.version} of ${user}, database ${database}`);
  if (unread !== undefined) options.output.talk(unread);
  return { url, directUrl: url, kind: 'embedded' };
}

const UNREAD = 'there is a .env here, which is read only with --env-file .env';

function nothingConfigured(unattended: string, unread: string | undefined): TaskqError {
  const ways =
    'set DATABASE_URL (or --database-url), or set TASKQ_DATABASE=embedded to use the local PostgreSQL';
  return new TaskqError(
    'no_database',
    `no database is configured, and no local PostgreSQL is started because ${unattended}`,
    {
      hint: unread === undefined ? ways : `${unread}; or ${ways}`,
    },
  );
}
