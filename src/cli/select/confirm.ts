import { createInterface } from 'node:readline/promises';
import { TaskqError } from '../../lib/errors.ts';
import type { Context } from '../run/context.ts';

/**
 * Ask at a terminal whether a destructive command is meant. Throws TaskqError where the answer is no (exit 1), or where
 * there is no terminal (exit 2).
 */
export async function confirm(context: Context, what: string): Promise<void> {
  if (!process.stdin.isTTY || !process.stderr.isTTY) {
    throw new TaskqError('not_confirmed', `this would ${what}, and there is no terminal to confirm it`, {
      hint: 'add --yes',
    });
  }
  const asking = createInterface({ input: process.stdin, output: process.stderr });
  try {
    // readline handles Ctrl-C itself, so pass it on.
    asking.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
    const answer = await asking.question(`This will ${what}. Continue? [y/N] `, { signal: context.signal });
    if (/^y(es)?$/i.test(answer.trim())) return;
    throw new TaskqError('declined', 'nothing was changed');
  } finally {
    asking.close();
  }
}
