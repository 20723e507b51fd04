import { stat } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { TaskqError } from '../lib/errors.ts';
import { unsupportedPlatform } from './locate-package.ts';
import { capture } from './run.ts';

/** The OS user that runs the server. */
export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** Whether this process is root, which must run PostgreSQL as another user. */
export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/**
 * Returns the user to run the server: this user. For root, whom PostgreSQL refuses, the owner of the data directory if
 * it exists (a `postgres` user installed later must not lock us out of it), or else `postgres`, or else `nobody`.
 * Throws TaskqError if there is neither.
 */
export async function serverAccount(dataDir: string): Promise<Account> {
  const uid = process.getuid?.();
  const gid = process.getgid?.();
  if (uid === undefined || gid === undefined) throw unsupportedPlatform();
  if (uid !== 0) return { name: ownName(uid), uid, gid };
  const owner = await ownerOf(dataDir);
  for (const candidate of [owner, 'postgres', 'nobody']) {
    const account = candidate && (await lookUp(candidate));
    if (account && account.uid !== 0) return account;
  }
  throw new TaskqError(
    'embedded_no_account',
    'PostgreSQL refuses to run as root, and this system has no user named postgres or nobody',
    {
      hint: 'Create a user named postgres, or run taskq as another user',
    },
  );
}

/** Returns the name of the user with this id, or the number itself if there is no name. */
export async function userName(uid: number): Promise<string> {
  if (uid === process.getuid?.()) return ownName(uid);
  return (await capture('id', ['-un', String(uid)])) ?? String(uid);
}

/** Returns the spawn options that run a child as the account; none if this process is that user. */
export function asAccount(account: Account): { uid?: number; gid?: number } {
  return isRoot() ? { uid: account.uid, gid: account.gid } : {};
}

function ownName(uid: number): string {
  try {
    return userInfo().username;
  } catch {
    return String(uid); // `docker run --user 1234` has no entry in passwd
  }
}

async function ownerOf(path: string): Promise<string | undefined> {
  const found = await stat(path).catch(() => undefined);
  return found && String(found.uid);
}

async function lookUp(user: string): Promise<Account | undefined> {
  const [name, uid, gid] = await Promise.all(['-un', '-u', '-g'].map((part) => capture('id', [part, user])));
  return name && uid && gid ? { name, uid: Number(uid), gid: Number(gid) } : undefined;
}
