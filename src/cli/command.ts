import type { Command } from 'commander';
import type { Context } from './context.ts';

/** What the user wrote after a command's name. */
export interface Call<Options extends object = object> {
  /** The operands in their order; those left out are missing. */
  readonly args: readonly string[];
  /** The command's options and the global ones, by commander's names: `--max-tasks` is `maxTasks`. */
  readonly options: Readonly<Options>;
}

/**
 * One command of the binary. The file that defines it is loaded for every `--help`: what `run` needs of `pg`, `ora`
 * and other large packages is imported in it.
 */
export interface CliCommand<Options extends object = object> {
  readonly name: string;
  /** One line for the list of commands, without a full stop. */
  readonly summary: string;
  /**
   * What SIGINT and SIGTERM do. Absent: they end the command at once with 130 or 143. `told`: `context.signal` is
   * aborted, and the command's end is awaited; a second one ends it at once. `own`: the command listens itself.
   */
  readonly signals?: 'told' | 'own';
  /** Commands under this one's name; one with these has no `run`. */
  readonly subcommands?: readonly CliCommand[];
  /** Say which arguments and options it takes. */
  declare?(command: Command): void;
  /** Do it. Returns the exit code; nothing is 0. Throws TaskqError for what an operator can act on. */
  // biome-ignore lint/suspicious/noConfusingVoidType: most commands return nothing
  run?(context: Context, call: Call<Options>): Promise<number | void>;
}
