import { expect } from 'vitest';
import type { Queryable } from '../../src/lib/database.ts';
import { foldCounts, takeSample } from '../../src/queue/protocol/sample.ts';

/** Adds what was counted to the metrics, and takes a sample, however recent the last one is. */
export async function sampled(db: Queryable): Promise<void> {
  await foldCounts(db);
  await db.query({ text: 'update taskq.sampling set took_ms = 0', values: [] });
  // It waits for no lock, such as that of an analyze.
  await expect.poll(() => takeSample(db)).toBe(true);
}
