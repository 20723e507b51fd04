import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskqError } from '../../lib/errors.ts';
import { messageOf } from '../../lib/thrown.ts';

/**
 * Read a file of variables into the environment of this process, as `node --env-file` does: variables already set stay.
 * Throws TaskqError (exit 2) where it cannot be read.
 */
export function readEnvFile(path: string): void {
  try {
    process.loadEnvFile(path);
  } catch (error) {
    const { code = messageOf(error) } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'no such file' : code;
    throw new TaskqError('env_file_unreadable', `cannot read --env-file ${path}: ${reason}`, {
      cause: error,
    });
  }
}

/** Whether the directory has a `.env` that names a database. */
export async function hasEnvFile(directory: string): Promise<boolean> {
  const text = await readFile(join(directory, '.env'), 'utf8').catch(() => '');
  return /^\s*(?:export\s+)?(?:TASKQ_)?DATABASE_URL\s*=/m.test(text);
}
