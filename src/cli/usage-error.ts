import type { CommanderError } from 'commander';
import { EXIT, TaskqError } from '../lib/errors.ts';
import { COMMANDS } from './commands.ts';

/** Turn commander's complaint about a command line into one line of ours. */
export function usageError(error: CommanderError, argv: readonly string[]): TaskqError {
  const [what = '', suggestion = ''] = error.message.replace(/^error: /, '').split('\n');
  const message = `${what.replace(/\.$/, '')}${suggestion && ` ${lowerFirst(suggestion)}`}`;
  return new TaskqError('usage', message, { exitCode: EXIT.usage, hint: `see taskq ${pathOf(argv)}--help` });
}

/** `(Did you mean one of enqueue, …?)` goes on in the same sentence. */
function lowerFirst(text: string): string {
  return text.replace('(Did', '(did');
}

/** The commands named so far: `dead revive `. */
function pathOf(argv: readonly string[]): string {
  let known = COMMANDS.flatMap(({ commands }) => commands);
  const path: string[] = [];
  for (const word of argv) {
    const command = known.find(({ name }) => name === word);
    if (command === undefined) continue;
    path.push(`${word} `);
    known = [...(command.subcommands ?? [])];
  }
  return path.join('');
}
