import type { EmbeddedOptions, StartStep } from '../embedded/server.ts';
import type { Environment } from './main.ts';
import type { Output } from './output.ts';

export interface EmbeddedDatabase {
  readonly url: string;
  /** Of the server. */
  readonly version: string;
  readonly database: string;
}

/** Start the local server if it does not run, and make the database of the project in `cwd` if it is not there. */
export async function openEmbeddedDatabase(options: {
  readonly cwd: string;
  readonly env: Environment;
  readonly output: Output;
}): Promise<EmbeddedDatabase> {
  const { cwd, env, output } = options;
  const { startEmbedded } = await import('../embedded/start.ts');
  const { ensureDatabase } = await import('../embedded/databases.ts');
  const { projectDatabase } = await import('../embedded/project-database.ts');
  const server = await startEmbedded({
    ...embeddedOptions(env),
    onProgress: (step) => output.talk(TALK[step]),
  });
  const database = projectDatabase(cwd);
  await ensureDatabase(server, database);
  return { url: server.url(database), version: server.version, database };
}

/** Where the local server of this user is: its default place unless TASKQ_STATE_DIR says otherwise. */
export function embeddedOptions(env: Environment): EmbeddedOptions {
  const stateDir = env.TASKQ_STATE_DIR;
  return stateDir === undefined || stateDir === '' ? {} : { stateDir };
}

const TALK: Record<StartStep, string> = {
  'copying binaries': 'copying the binaries of the local PostgreSQL (once)',
  'creating the data directory': 'creating the data directory of the local PostgreSQL (once)',
  starting: 'starting the local PostgreSQL',
};
