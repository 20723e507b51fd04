import { hostname } from 'node:os';
import type { Command } from 'commander';
import { badOption } from '../../lib/bad-option.ts';

export interface ActingOptions {
  readonly by?: string;
}

/** Declare the option that names who acts. */
export function declareActing(command: Command): Command {
  return command.option('--by <name>', 'your name for the record; default: user@host of this shell');
}

/** The name to record beside the role of the session. Throws TaskqError (exit 2). */
export async function actingOf({ by }: ActingOptions): Promise<string> {
  if (by === undefined) return operatorName();
  const name = by.trim();
  if (name !== '' && name.length <= 200) return name;
  throw badOption('--by: expected a name of at most 200 characters');
}

/** `ann@host` */
async function operatorName(): Promise<string> {
  const { userName } = await import('../../embedded/account.ts');
  return `${await userName(process.getuid?.() ?? -1)}@${hostname()}`.slice(0, 200);
}
