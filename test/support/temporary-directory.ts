import { chmod, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';

/** Makes an empty directory that every user may enter; it is deleted with all others when the run ends. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(inject('scratchDirectory'), 'd-'));
  await chmod(directory, 0o755);
  return directory;
}
