import { PartlyEnqueuedError } from '../../domain/errors.ts';
import type { Queryable } from '../../lib/database.ts';
import { isUndone } from '../../lib/server-trouble.ts';
import { type Bulk, type Enqueued, enqueueCounted, enqueueMany } from './enqueue.ts';

export interface SendOptions {
  /** Whether each bulk is a transaction, or all are in the caller's. */
  readonly commits: 'each bulk' | 'with the caller';
  /** Words an error of the database for the caller. */
  readonly explain: (error: unknown) => unknown;
  /** Abort it to send no further bulk; its reason is then the error. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each bulk with the number of tasks sent so far. */
  readonly onSent?: ((sent: number) => void) | undefined;
  /** Called after each bulk with its answers, in the order of its tasks. Without it, their ids are not fetched. */
  readonly onEnqueued?: ((answers: readonly Enqueued[]) => void) | undefined;
}

/** The answer to an enqueue of many. */
export interface EnqueuedMany {
  readonly created: number;
  /** Not created because their keys were held. */
  readonly existing: number;
}

/**
 * Enqueues bulks, one statement each. If it fails and each bulk is a transaction, throws PartlyEnqueuedError, which
 * counts the tasks that are enqueued.
 */
export async function sendBulks(
  db: Queryable,
  bulks: AsyncIterable<Bulk>,
  { commits, explain, signal, onSent, onEnqueued }: SendOptions,
): Promise<EnqueuedMany> {
  let [sent, created, sending] = [0, 0, 0];
  try {
    for await (const bulk of bulks) {
      if (signal?.aborted) throw signal.reason;
      sending = bulk.count;
      const answers = onEnqueued && (await enqueueMany(db, bulk));
      created += answers?.filter((answer) => answer.created).length ?? (await enqueueCounted(db, bulk));
      sending = 0;
      sent += bulk.count;
      if (answers) onEnqueued?.(answers);
      onSent?.(sent);
    }
  } catch (error) {
    const cause = explain(error);
    if (commits === 'with the caller') throw cause;
    throw new PartlyEnqueuedError(cause, sent, isUndone(error) ? 0 : sending);
  }
  return { created, existing: sent - created };
}
