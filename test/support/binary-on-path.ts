import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BINARY } from './spawn-taskq.ts';
import { temporaryDirectory } from './temporary-directory.ts';

/**
 * Creates a directory for the front of a PATH, with the built binary in it as `taskq`. `instead`: lines of sh to run
 * first, with the arguments as `$@`.
 */
export async function binaryOnPath(instead = ''): Promise<string> {
  const directory = await temporaryDirectory();
  const path = join(directory, 'taskq');
  await writeFile(path, `#!/bin/sh\n${instead}\nexec '${process.execPath}' '${BINARY}' "$@"\n`);
  await chmod(path, 0o755);
  return directory;
}
