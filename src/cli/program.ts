import { Command } from 'commander';
import { packageVersion } from '../lib/package-root.ts';
import { wrapText } from '../lib/wrap.ts';
import { COMMANDS } from './commands.ts';
import type { CliCommand, CommandEntry } from './run/command.ts';
import { declareGlobalOptions } from './run/global-options.ts';

/** Called with the command that the user named; commander's own object holds its arguments and options. */
export type OnCall = (command: CliCommand, commander: Command) => Promise<void>;

/**
 * Build the command line. Commands that `argv` does not name have only a name and a summary: their files are not
 * loaded, which keeps `--help` fast. Throws the errors that commander would print.
 */
export async function buildProgram(argv: readonly string[], onCall: OnCall): Promise<Command> {
  const program = declareGlobalOptions(new Command('taskq'))
    .description('A background task queue whose only server is PostgreSQL.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .configureHelp({
      showGlobalOptions: true,
      commandUsage: usageOf,
      subcommandTerm: (command) => command.name(),
    })
    .configureOutput({ writeOut: printHelp, writeErr: printHelpToStderr, outputError: () => {} })
    .exitOverride();
  for (const { heading, entries } of COMMANDS) {
    program.commandsGroup(heading);
    for (const entry of entries) await addCommand(program, entry, argv, onCall);
  }
  return program.helpCommand('help [command]', 'print the help of a command').addHelpText('after', EXAMPLES);
}

/**
 * Help whose reader has gone is not an error; commands handle a closed stdout themselves, but help is not a command.
 */
function printHelp(text: string): void {
  process.stdout.once('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
  process.stdout.write(fitted(text, process.stdout));
}

/** The help of a command without its subcommand. */
function printHelpToStderr(text: string): void {
  process.stderr.write(fitted(text, process.stderr));
}

/** Commander fits the options to the terminal, or to 80 columns without one, but not the texts below them. */
function fitted(text: string, { isTTY, columns }: NodeJS.WriteStream): string {
  return wrapText(text, isTTY && columns > 0 ? columns : 80);
}

const EXAMPLES = `
Examples:
  taskq migrate
  taskq enqueue send-email '{"to":"ann@example.org"}' --delay 10m
  taskq work --concurrency 8
  taskq dead list
  taskq dead revive --type send-email

Run taskq <command> --help for the options of a command.`;

async function addCommand(
  parent: Command,
  entry: CommandEntry,
  argv: readonly string[],
  onCall: OnCall,
): Promise<void> {
  const { name, summary, isDefault = false } = entry;
  const made = parent.command(name, { isDefault }).description(summary);
  if (!argv.includes(name) && !isDefault) return;
  const command = await entry.load();
  made.helpCommand(false);
  command.declare?.(made);
  refuseRepeatedLists(made);
  for (const child of command.subcommands ?? []) await addCommand(made, child, argv, onCall);
  if (command.run !== undefined) made.action(() => onCall(command, made));
}

/**
 * Refuse a list that is given twice, such as --queues. For other options the last value counts, for the sake of shell
 * aliases.
 */
function refuseRepeatedLists(command: Command): void {
  for (const option of command.options) {
    if (!/<\w+,\w+>/.test(option.flags)) continue;
    let times = 0;
    command.on(`option:${option.name()}`, () => {
      times += 1;
      if (times > 1)
        command.error(`error: option '${option.flags}' is given twice: separate the names with commas`);
    });
  }
}

/** `taskq dead revive [options] <id...>`: does not repeat the global options for every parent. */
function usageOf(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return `${names.join(' ')} ${takesOf(command)}`;
}

/** `[options] --reason <text> <id>`: an option without brackets is required. */
export function takesOf(command: Command): string {
  const required = command.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
  return command.usage().replace('[options]', ['[options]', ...required].join(' '));
}
