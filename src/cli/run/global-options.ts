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
    .option('--database-url <url>', 'PostgreSQL database to use (DATABASE_URL)')
    .option('--config <path>', 'read this configuration file instead of searching for one')
    .option(
      '--env-file <path>',
      'read variables from a file such as .env; existing variables keep their values',
    )
    .option('--json', 'print one JSON document instead of text')
    .option('--quiet', 'print only data and errors')
    .option('--no-color', 'print without colours (NO_COLOR)');
}
