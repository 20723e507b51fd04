import type { Queryable } from '../../lib/database.ts';
import { beginSample, foldCounts, takeSample } from '../../queue/protocol/sample.ts';

export interface SamplerOptions {
  /** Where a long count does not mean that the worker's connection is lost. */
  readonly db: Queryable;
  readonly stop: AbortSignal;
}

/** How often each worker looks whether a sample is due; taskq.begin_sample has one of them take it. */
export const SAMPLE_MS = 15_000;

/**
 * Fold the counts of what tasks have done into the metrics, and sample how many tasks there are, if either is due for
 * all workers together. The turn is taken first, in a transaction of its own: if a statement fails, no worker repeats
 * it before the next turn.
 */
export async function sample({ db, stop }: SamplerOptions): Promise<void> {
  if (!(await beginSample(db))) return;
  for (let isMore = true; isMore && !stop.aborted; ) isMore = await foldCounts(db);
  if (!stop.aborted) await takeSample(db);
}
