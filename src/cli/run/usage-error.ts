import type { Command, CommanderError } from 'commander';
import { TaskqError } from '../../lib/errors.ts';
import { didYouMean } from '../../lib/nearest.ts';

/** Turn commander's complaint about a command line into one line of ours. */
export function usageError(error: CommanderError, program: Command, argv: readonly string[]): TaskqError {
  const named = commandsNamed(program, argv);
  const hint = `see ${named.map((command) => command.name()).join(' ')} --help`;
  return new TaskqError('usage', unknownBelow(error, named.at(-1)!, argv) ?? messageOf(error), {
    hint,
  });
}

function messageOf(error: CommanderError): string {
  const [what = '', suggestion = ''] = error.message.replace(/^error: /, '').split('\n');
  // The suggestion continues the same sentence.
  return `${what.replace(/\.$/, '')} ${suggestion.replace('(Did', '(did')}`.trim();
}

/** `workers pasue 3`: commander takes an unknown command name as an operand of the default subcommand. */
function unknownBelow(error: CommanderError, command: Command, argv: readonly string[]): string | undefined {
  if (error.code !== 'commander.excessArguments' || command.commands.length === 0) return undefined;
  const word = argv[argv.indexOf(command.name()) + 1] ?? '';
  if (word.startsWith('-')) return undefined;
  const names = command.commands.map((below) => below.name());
  return `unknown command '${word}'${didYouMean(word, names).replaceAll('"', '')}`;
}

/** The commands named so far: `taskq`, `dead`, `revive`. */
function commandsNamed(program: Command, argv: readonly string[]): Command[] {
  const named = [program];
  for (const word of argv) {
    const next = named.at(-1)!.commands.find((command) => command.name() === word);
    if (next !== undefined) named.push(next);
  }
  return named;
}
