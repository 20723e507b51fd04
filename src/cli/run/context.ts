import type { LoadedConfig } from '../../config/load-config.ts';
import type { Database } from '../../lib/database.ts';
import type { ChosenDatabase } from './choose-database.ts';
import type { Environment } from './environment.ts';
import type { GlobalOptions } from './global-options.ts';
import type { Output } from './output.ts';

/** The resources of a command. Reads and opens nothing before the command asks for it. */
export interface Context {
  readonly cwd: string;
  readonly env: Environment;
  readonly output: Output;
  /** Aborted by SIGINT or SIGTERM, with its name as the reason. */
  readonly signal: AbortSignal;
  /** Every setting and its source. */
  config(): Promise<LoadedConfig>;
  /** The database of the settings, its schema unchecked; starts an embedded one. */
  databaseToMigrate(): Promise<ChosenDatabase>;
  /** The same; migrates an embedded one, and does not check a configured one. */
  chosenDatabase(): Promise<ChosenDatabase>;
  /** The database, with its schema checked; closed when the command ends. */
  database(): Promise<Database>;
  onSignal(): OnSignal;
  /**
   * From now on, when `signal` aborts, the command ends by itself, soon. A second signal still ends it at once.
   * `close`: the first signal is the normal end of the command, with the exit code that it returns.
   */
  catchSignals(how?: 'finish' | 'close'): void;
  abort(signal: NodeJS.Signals): void;
  /** A database error in words for an operator; any other error unchanged. */
  explain(error: unknown): unknown;
  close(): Promise<void>;
}

/** What a first SIGINT or SIGTERM does: end the command at once, let it finish its work, or end it normally. */
export type OnSignal = 'end' | 'finish' | 'close';

export interface ContextOptions {
  /** `taskq dead revive`: the application_name of its sessions, which the audit records. */
  readonly command: string;
  readonly env: Environment;
  readonly options: GlobalOptions;
  readonly output: Output;
}

/** Make the context of one run of a command. */
export function createContext({ command, env, options, output }: ContextOptions): Context {
  const cwd = process.cwd();
  const stop = new AbortController();
  let onSignal: OnSignal = 'end';
  let explain: (error: unknown) => unknown = (error) => error;

  const config = once(async () => {
    const { misspeltVariables } = await import('./misspelt-variables.ts');
    if (output.format === 'text') for (const line of misspeltVariables(env)) output.talk(line);
    return (await import('./read-config.ts')).readConfig({ cwd, env, options });
  });
  const choose = once(async () => {
    const { chooseDatabase } = await import('./choose-database.ts');
    return chooseDatabase({ cwd, env, output, config: (await config()).values });
  });
  const explainFor = async (url: string) => {
    const { explainDatabaseError } = await import('./explain-database-error.ts');
    explain = (error) => explainDatabaseError(error, url);
  };
  const databaseToMigrate = once(async () => {
    const chosen = await choose();
    await explainFor(chosen.directUrl);
    return chosen;
  });
  const chosenDatabase = once(async () => {
    const chosen = await choose();
    await explainFor(chosen.url);
    if (chosen.kind === 'embedded') await (await import('./migrate-if-due.ts')).migrateIfDue(chosen.url);
    return chosen;
  });
  let opened: Database | undefined;
  const database = once(async () => {
    const { openDatabase } = await import('../../lib/database.ts');
    const { checkSchema } = await import('../../queue/schema/check-schema.ts');
    const { parseExact } = await import('../../lib/exact-json.ts');
    const { url } = await chosenDatabase();
    opened = openDatabase({
      databaseUrl: url,
      synchronousCommit: (await config()).values.synchronousCommit,
      maxConnections: 2,
      applicationName: command,
      parseJson: parseExact,
    });
    await checkSchema(opened);
    return opened;
  });

  return {
    cwd,
    env,
    output,
    signal: stop.signal,
    onSignal: () => onSignal,
    catchSignals(how = 'finish') {
      onSignal = how;
    },
    abort: (signal) => stop.abort(signal),
    config,
    databaseToMigrate,
    chosenDatabase,
    database,
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
