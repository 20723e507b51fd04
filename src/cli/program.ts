import { Command } from 'commander';
import { packageVersion } from '../lib/package-root.ts';
import type { CliCommand } from './command.ts';
import { COMMANDS } from './commands.ts';
import { declareGlobalOptions } from './global-options.ts';

/** Told which command was called and what with; it is commander's own object that knows the options. */
export type OnCall = (command: CliCommand, commander: Command) => Promise<void>;

/** Build the command line out of the list of commands. What commander would print as an error, it throws. */
export function buildProgram(onCall: OnCall): Command {
  const program = declareGlobalOptions(new Command('taskq'))
    .description('A background task queue whose only server is PostgreSQL.')
    .version(packageVersion(), '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .configureHelp({ showGlobalOptions: true, commandUsage: usageOf })
    .configureOutput({ outputError: () => {} })
    .exitOverride();
  for (const { heading, commands } of COMMANDS) {
    program.commandsGroup(heading);
    for (const command of commands) addCommand(program, command, onCall);
  }
  return program.addHelpText('after', EXAMPLES);
}

const EXAMPLES = `
Examples:
  taskq migrate
  taskq enqueue send-email '{"to":"ann@example.org"}' --delay 10m
  taskq work --concurrency 8
  taskq dead list
  taskq dead revive --type send-email
`;

function addCommand(parent: Command, command: CliCommand, onCall: OnCall): void {
  const made = parent.command(command.name).description(`${command.summary}`);
  // The global options are shown below as such; every command has them.
  command.declare?.(made);
  for (const child of command.subcommands ?? []) addCommand(made, child, onCall);
  if (command.run !== undefined) made.action(() => onCall(command, made));
}

/** `taskq dead revive [options] <id...>`: global options are not said again for every parent. */
function usageOf(command: Command): string {
  const names: string[] = [];
  for (let at: Command | null = command; at !== null; at = at.parent) names.unshift(at.name());
  return `${names.join(' ')} ${command.usage()}`;
}
