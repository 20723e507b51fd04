import type { Command, CommanderError } from 'commander';
import { EXIT, TaskqError } from '../lib/errors.ts';

/** Turn commander's complaint about a command line into one line of ours. */
export function usageError(error: CommanderError, program: Command, argv: readonly string[]): TaskqError {
  const [what = '', suggestion = ''] = error.message.replace(/^error: /, '').split('\n');
  // The suggestion goes on in the same sentence.
  const message = `${what.replace(/\.$/, '')} ${suggestion.replace('(Did', '(did')}`.trim();
  const hint = `see ${commandsNamed(program, argv).join(' ')} --help`;
  return new TaskqError('usage', message, { exitCode: EXIT.usage, hint });
}

/** The commands named so far: `taskq`, `dead`, `revive`. */
function commandsNamed(program: Command, argv: readonly string[]): string[] {
  let at = program;
  const names = [at.name()];
  for (const word of argv) {
    const next = at.commands.find((command) => command.name() === word);
    if (next === undefined) continue;
    at = next;
    names.push(word);
  }
  return names;
}
