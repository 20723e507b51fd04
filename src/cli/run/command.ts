import type { Command } from 'commander';
import type { Context } from './context.ts';

/** What the user typed after a command's name. */
export interface Call<Options extends object = object> {
  /** The operands in their order; omitted ones are missing. */
  readonly args: readonly string[];
  /** The command's options and the global ones, by commander's names: `--max-tasks` is `maxTasks`. */
  readonly options: Readonly<Options>;
}

/** A command as `--help` lists it. Its own file is loaded when its name is on the command line. */
export interface CommandEntry {
  readonly name: string;
  /** One line, without a full stop. */
  readonly summary: string;
  /** The default among the subcommands of one parent. */
  readonly isDefault?: true;
  load(): Promise<CliCommand>;
}

/** Values to offer when a shell completes an option or argument, by commander's name for it. */
export type Suggestions = Readonly<Record<string, readonly string[]>>;

/**
 * One command of the binary. Its own `--help` loads its file too: import the large packages that `run` needs, such as
 * `pg` and `ora`, within `run`.
 */
export interface CliCommand<Options extends object = object> {
  /** It handles SIGINT, SIGTERM and a closed stdout itself. Absent: see `Context.catchSignals`. */
  readonly signals?: 'own';
  /** Its subcommands; a command with these has no `run`. */
  readonly subcommands?: readonly CommandEntry[];
  readonly suggestions?: Suggestions;
  /** Declare its arguments and options. */
  declare?(command: Command): void;
  /** Run the command. Returns the exit code; nothing means 0. Throws TaskqError for what an operator can act on. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing
  run?(context: Context, call: Call<Options>): Promise<number | void>;
}
