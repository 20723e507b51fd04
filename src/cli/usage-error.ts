import type { Command, CommanderError } from 'commander';
import { TaskqError } from '../lib/errors.ts';
import { didYouMean } from '../lib/nearest.ts';
import { COMMANDS } from './commands.ts';
import { namedCommands } from './run/named-commands.ts';

/** Turn commander's complaint about a command line into one line of ours. */
export async function usageError(
  error: CommanderError,
  program: Command,
  argv: readonly string[],
): Promise<TaskqError> {
  const { commands, other } = namedCommands(program, argv);
  const command = commands.at(-1)!;
  // `workers pasue 3`: commander takes an unknown name as an operand of the default subcommand.
  const isOperand = error.code === 'commander.excessArguments' && command.commands.length > 0;
  const isUnknown = error.code === 'commander.unknownCommand' || isOperand;
  if (isUnknown && other !== undefined) return unknownCommand(commands, other);
  return refused(commands, messageOf(error));
}

const ANY = new Intl.ListFormat('en-GB', { type: 'disjunction' });

/** The refusal of a word where a command is expected. */
export async function unknownCommand(commands: readonly Command[], word: string): Promise<TaskqError> {
  const below = commands.length === 1 ? await subcommandsNamed(word) : [];
  const names = commands.at(-1)!.commands.map((command) => command.name());
  const hint = below.length > 0 ? ` (did you mean ${ANY.format(below)}?)` : didYouMean(word, names);
  return refused(commands, `unknown command '${word}'${hint.replaceAll('"', '')}`);
}

/** `dead revive` for `revive`. */
async function subcommandsNamed(word: string): Promise<readonly string[]> {
  const entries = COMMANDS.flatMap((group) => group.entries);
  const found = entries.map(async ({ name, load }) => {
    const { subcommands = [] } = await load();
    return subcommands.some((command) => command.name === word) ? [`${name} ${word}`] : [];
  });
  return (await Promise.all(found)).flat();
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
