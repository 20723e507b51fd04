import { open } from 'node:fs/promises';

/** The most that is read, from the end. */
const MAX_BYTES = 4 * 1024 * 1024;

/** Read the last lines of a file that may be large. Undefined: there is no such file. */
export async function readTail(path: string, count: number): Promise<string[] | undefined> {
  const file = await open(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    const from = Math.max(0, size - MAX_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - from), 0, size - from, from);
    const lines = buffer.toString('utf8', 0, bytesRead).split('\n');
    if (lines.at(-1) === '') lines.pop();
    return lines.slice(-count);
  } finally {
    await file.close();
  }
}
