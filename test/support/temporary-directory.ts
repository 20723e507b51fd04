import { chmod, mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { inject } from 'vitest';

/** Creates an empty directory that every user may enter; deleted with all others at the end of the run. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(inject('scratchDirectory'), 'd-'));
  await chmod(directory, 0o755);
  return directory;
}
