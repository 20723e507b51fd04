import type { Command } from 'commander';

/** The options that every command takes, before or after its name. */
export interface GlobalOptions {
  readonly databaseUrl?: string;
  readonly config?: string;
  readonly envFile?: string;
  readonly json?: true;
  readonly quiet?: true;
  readonly color: boolean;
}

/** Declare the options that every command takes. */
export function declareGlobalOptions(program: Command): Command {
  return program
    .option('--database-url <url>', 'PostgreSQL to work with (DATABASE_URL)')
    .option('--config <path>', 'the configuration file to read instead of looking for one')
    .option('--env-file <path>', 'a file of variables such as .env to read first; what is set already stays')
    .option('--json', 'print one JSON document instead of text for people')
    .option('--quiet', 'print data and errors, nothing else')
    .option('--no-color', 'print without colours (NO_COLOR)');
}
