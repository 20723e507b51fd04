import type { Command, CommanderError } from 'commander';
import { TaskqError } from '../../lib/errors.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { namedCommands } from './named-commands.ts';

/** Turn commander's complaint about a command line into one line of ours. */
export function usageError(error: CommanderError, program: Command, argv: readonly string[]): TaskqError {
  const { commands, other } = namedCommands(program, argv);
  const command = commands.at(-1)!;
  // `workers pasue 3`: commander takes an unknown name as an operand of the default subcommand.
  const isUnknown = error.code === 'commander.excessArguments' && command.commands.length > 0;
  if (isUnknown && other !== undefined) return unknownCommand(commands, other);
  return refused(commands, messageOf(error));
}

/** The refusal of a word where a command is expected. */
export function unknownCommand(commands: readonly Command[], word: string): TaskqError {
  const names = commands.at(-1)!.commands.map((below) => below.name());
  return refused(commands, `unknown command '${word}'${didYouMean(word, names).replaceAll('"', '')}`);
}

function refused(commands: readonly Command[], message: string): TaskqError {
  const hint = `see ${commands.map((command) => command.name()).join(' ')} --help`;
  return new TaskqError('usage', message, { hint });
}

function messageOf(error: CommanderError): string {
  const [what = '', suggestion = ''] = error.message.replace(/^error: /, '').split('\n');
  // The suggestion continues the same sentence.
  return `${what.replace(/\.$/, '')} ${suggestion.replace('(Did', '(did')}`.trim();
}
