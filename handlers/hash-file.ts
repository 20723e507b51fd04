import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { defineHandler } from 'taskq';

/** Computes the SHA-256 of a file. A file that cannot be read is tried three times, then its task is a dead letter. */
export default defineHandler<{ path: string }>({
  timeout: '30s',
  maxAttempts: 3,
  backoff: { kind: 'fixed', base: '200ms' },
  async run({ path }) {
    const content = await readFile(path);
    return { sha256: createHash('sha256').update(content).digest('hex'), bytes: content.length };
  },
});
