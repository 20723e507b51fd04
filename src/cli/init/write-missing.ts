import { mkdir, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { TaskqError } from '../../lib/errors.ts';
import { messageOf } from '../../lib/thrown.ts';

/** A file to write, unless it exists. */
export interface WantedFile {
  readonly path: string;
  readonly text: string;
}

/** Write a file and the directories above it. False: it already exists. Throws `not_written`. */
export async function writeMissing({ path, text }: WantedFile): Promise<boolean> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, text, { flag: 'wx' });
    return true;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') return false;
    throw new TaskqError('not_written', `cannot write ${path}: ${code ?? messageOf(error)}`, {
      cause: error,
    });
  }
}
