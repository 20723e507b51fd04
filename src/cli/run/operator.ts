import { hostname } from 'node:os';
import { type Command, Option } from 'commander';
import { badOption } from '../../lib/bad-option.ts';

/** The longest reason that the audit takes. */
const MOST_REASON = 1000;
const MOST_NAME = 200;

export interface ActingOptions {
  readonly by?: string;
  readonly why?: string;
}

/** Declare the options for who acts, and why. */
export function declareActing(command: Command): Command {
  return declareName(command).option('--why <text>', 'your reason for the record');
}

/** Declare the option that names who acts, for a verb whose own `--reason` is the reason; it also takes `--why`. */
export function declareActor(command: Command): Command {
  return declareName(command)
    .addOption(new Option('--why <text>').hideHelp())
    .on('option:why', (text: string) => command.setOptionValue('reason', text));
}

function declareName(command: Command): Command {
  return command.option('--by <name>', 'your name for the record; default: user@host of this shell');
}

/** What to record beside the role of the session. Throws TaskqError (exit 2). */
export async function actingOf({ by, why }: ActingOptions): Promise<{ by: string; reason?: string }> {
  const reason = why?.trim() ?? '';
  if ([...reason].length > MOST_REASON)
    throw badOption(`--why: expected a text of at most ${MOST_REASON} characters`);
  return { by: await actorOf(by), ...(reason !== '' && { reason }) };
}

/** The name of the person who acts. Throws TaskqError (exit 2). */
export async function actorOf(by?: string): Promise<string> {
  if (by === undefined) return operatorName();
  const name = by.trim();
  if (name !== '' && [...name].length <= MOST_NAME) return name;
  throw badOption(`--by: expected a name of at most ${MOST_NAME} characters`);
}

/** `ann@host` */
async function operatorName(): Promise<string> {
  const { userName } = await import('../../embedded/account.ts');
  const name = `${await userName(process.getuid?.() ?? -1)}@${hostname()}`;
  return [...name].slice(0, MOST_NAME).join('');
}
