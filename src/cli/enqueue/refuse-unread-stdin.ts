import { fstatSync, type Stats } from 'node:fs';
import { badOption } from '../../lib/bad-option.ts';

/** How long a pipe may take to deliver data, or to close. */
const PATIENCE_MS = 2000;

/**
 * Make sure that stdin is empty where the command does not read it: `echo '{"a":1}' | taskq enqueue type` means its
 * payload, not `{}`. Reading stdin by default would be wrong: in a shell's `while read`, it holds the next lines.
 * Throws TaskqError (exit 2); so too for a pipe that stays open and silent.
 */
export async function refuseUnreadStdin(): Promise<void> {
  const stat = stdinStat();
  if (stat === undefined) return;
  if (stat.isFile() && stat.size > 0) throw unread('no payload was given, but there is input on stdin');
  if (!stat.isFIFO() && !stat.isSocket()) return;
  const first = await firstOf(process.stdin);
  if (first === 'end') return;
  throw unread(
    first === 'data'
      ? 'no payload was given, but there is input on stdin'
      : 'no payload was given, but stdin is an open pipe',
  );
}

function stdinStat(): Stats | undefined {
  try {
    return fstatSync(0);
  } catch {
    return undefined; // closed
  }
}

function firstOf(stdin: NodeJS.ReadStream): Promise<'data' | 'end' | 'silence'> {
  return new Promise((resolve) => {
    const answer = (first: 'data' | 'end' | 'silence') => {
      clearTimeout(patience);
      stdin.destroy();
      resolve(first);
    };
    const patience = setTimeout(answer, PATIENCE_MS, 'silence' as const);
    stdin.once('data', () => answer('data'));
    stdin.once('end', () => answer('end'));
    stdin.once('error', () => answer('end'));
  });
}

function unread(what: string) {
  return badOption(what, "give - to read stdin, or give a payload such as '{}'");
}
