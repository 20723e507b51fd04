import type { Command } from 'commander';
import type { Context } from './context.ts';

/** What the user wrote after a command's name. */
export interface Call<Options extends object = object> {
  /** The operands in their order; those left out are missing. */
  readonly args: readonly string[];
  /** The command's options and the global ones, by commander's names: `--max-tasks` is `maxTasks`. */
  readonly options: Readonly<Options>;
}

/** A command as `--help` lists it. Its own file is loaded when its name is on the command line. */
export interface CommandEntry {
  readonly name: string;
  /** One line, without a full stop. */
  readonly summary: string;
  /** Of several below one name: the one that is meant where none is named. */
  readonly isDefault?: true;
  load(): Promise<CliCommand>;
}

/** Values to offer when a shell completes an option or argument, by commander's names of them. */
export type Suggestions = Readonly<Record<string, readonly string[]>>;

/**
 * One command of the binary. Its file is loaded for its own `--help` too: what `run` needs of `pg`, `ora` and other
 * large packages is imported in it.
 */
export interface CliCommand<Options extends object = object> {
  /** It listens itself to what ends it: SIGINT, SIGTERM, a closed stdout. Absent: see `Context.catchSignals`. */
  readonly signals?: 'own';
  /** Commands under this one's name; one with these has no `run`. */
  readonly subcommands?: readonly CommandEntry[];
  readonly suggestions?: Suggestions;
  /** Say which arguments and options it takes. */
  declare?(command: Command): void;
  /** Do it. Returns the exit code; nothing is 0. Throws TaskqError for what an operator can act on. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing
  run?(context: Context, call: Call<Options>): Promise<number | void>;
}
