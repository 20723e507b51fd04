import type { Config } from '../../config/settings.ts';
import type { EmbeddedOptions, EmbeddedServer, StartStep } from '../../embedded/server.ts';
import type { Output } from './output.ts';

export interface EmbeddedDatabase {
  readonly server: EmbeddedServer;
  readonly database: string;
  readonly url: string;
}

/** Start the local server unless it runs, and create the database of the project in `cwd` unless it exists. */
export async function openEmbeddedDatabase(from: {
  readonly cwd: string;
  readonly config: Pick<Config, 'stateDir'>;
  readonly output: Output;
}): Promise<EmbeddedDatabase> {
  const { startEmbedded } = await import('../../embedded/start.ts');
  const { ensureDatabase } = await import('../../embedded/databases.ts');
  const { projectDatabase } = await import('../../embedded/project-database.ts');
  const server = await startEmbedded({
    ...embeddedOptions(from.config),
    onProgress: (step) => from.output.talk(TALK[step]),
  });
  const database = projectDatabase(from.cwd);
  await ensureDatabase(server, database);
  return { server, database, url: server.url(database) };
}

/** Where this user's local server is. */
export function embeddedOptions({ stateDir }: Pick<Config, 'stateDir'>): EmbeddedOptions {
  return stateDir === null ? {} : { stateDir };
}

const TALK: Record<StartStep, string> = {
  'copying binaries': 'copying the binaries of the local PostgreSQL (once)',
  'creating the data directory': 'creating the data directory of the local PostgreSQL (once)',
  starting: 'starting the local PostgreSQL',
};
