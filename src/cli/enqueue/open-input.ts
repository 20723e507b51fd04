import { open } from 'node:fs/promises';
import { TaskqError } from '../../lib/errors.ts';

/** Open a file, or stdin for `-`, for reading. Throws TaskqError `bad_file` (exit 2), which names it. */
export async function openInput(path: string): Promise<AsyncIterable<Buffer>> {
  if (path === '-') return process.stdin as AsyncIterable<Buffer>;
  try {
    const file = await open(path);
    if ((await file.stat()).isDirectory()) {
      await file.close();
      throw Object.assign(new Error('it is a directory'), { code: 'EISDIR' });
    }
    return file.createReadStream() as AsyncIterable<Buffer>;
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException;
    throw new TaskqError('bad_file', `cannot read ${path}: ${WHY[code] ?? message}`, {
      cause: error,
    });
  }
}

const WHY: Readonly<Record<string, string>> = {
  ENOENT: 'no such file',
  EACCES: 'permission denied',
  EISDIR: 'it is a directory',
};
