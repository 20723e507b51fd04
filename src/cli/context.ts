import type { LoadedConfig } from '../config/load-config.ts';
import type { Database } from '../lib/database.ts';
import type { ChosenDatabase } from './choose-database.ts';
import type { GlobalOptions } from './global-options.ts';
import type { Environment } from './main.ts';
import type { Output } from './output.ts';

/** What a command is given to work with. Nothing is read or opened before it is asked for. */
export interface Context {
  readonly cwd: string;
  readonly env: Environment;
  readonly output: Output;
  /** Aborted by SIGINT or SIGTERM, with its name as the reason. */
  readonly signal: AbortSignal;
  /** Every setting and where it comes from. */
  config(): Promise<LoadedConfig>;
  /** Which database the settings mean, without connecting; an embedded one is started. */
  chosenDatabase(): Promise<ChosenDatabase>;
  /** The database, its schema checked; closed when the command ends. */
  database(): Promise<Database>;
  abort(signal: NodeJS.Signals): void;
  /** The error as an operator should read it, where it is one of a database; else as it is. */
  explain(error: unknown): unknown;
  close(): Promise<void>;
}

export interface ContextOptions {
  /** The command's name, for `pg_stat_activity`. */
  readonly command: string;
  readonly env: Environment;
  readonly options: GlobalOptions;
  readonly output: Output;
}

/** Make the context of one run of a command. */
export function createContext({ command, env, options, output }: ContextOptions): Context {
  const cwd = process.cwd();
  const stop = new AbortController();
  let explain: (error: unknown) => unknown = (error) => error;

  const config = once(async () => (await import('./read-config.ts')).readConfig({ cwd, env, options }));
  const chosenDatabase = once(async () => {
    const { chooseDatabase } = await import('./choose-database.ts');
    const { explainDatabaseError } = await import('./explain-database-error.ts');
    const chosen = await chooseDatabase({ cwd, env, output, config: (await config()).values });
    explain = (error) => explainDatabaseError(error, chosen.url);
    return chosen;
  });
  let opened: Database | undefined;
  const database = once(async () => {
    const { openDatabase } = await import('../lib/database.ts');
    const { prepareSchema } = await import('./prepare-schema.ts');
    const chosen = await chosenDatabase();
    const applicationName = `taskq ${command}`;
    opened = openDatabase({ databaseUrl: chosen.url, maxConnections: 2, applicationName });
    await prepareSchema(opened, chosen);
    return opened;
  });

  return {
    cwd,
    env,
    output,
    signal: stop.signal,
    config,
    chosenDatabase,
    database,
    abort: (signal) => stop.abort(signal),
    explain: (error) => explain(error),
    close: async () => opened?.close(),
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
