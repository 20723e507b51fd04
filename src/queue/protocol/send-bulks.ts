import { PartlyEnqueuedError } from '../../domain/errors.ts';
import type { Queryable } from '../../lib/database.ts';
import { isUndone } from '../../lib/server-trouble.ts';
import {
  type Bulk,
  type EnqueueAnswer,
  type Enqueued,
  type EnqueuedBulk,
  type EnqueuedCounts,
  enqueueCounted,
  enqueueMany,
  type Refusal,
} from './enqueue.ts';

export interface SendOptions {
  /** Whether each bulk is a transaction, or all are in the caller's. */
  readonly commits: 'each bulk' | 'with the caller';
  /** Rewords an error of the database for the caller. */
  readonly explain: (error: unknown) => unknown;
  /** Abort it to send no further bulk; its reason is then the error. */
  readonly signal?: AbortSignal | undefined;
  /** Called after each bulk with the number of tasks sent so far. */
  readonly onSent?: ((sent: number) => void) | undefined;
  /** Called after each bulk with its answers, in the order of its tasks. Without it, their ids are not fetched. */
  readonly onEnqueued?: ((answers: readonly Enqueued[]) => void) | undefined;
  /**
   * Called for each task that could not replace one of another type or group, with its place among all tasks, from 1
   * on. Not called with `onEnqueued`, whose answers include it.
   */
  readonly onRefused?: ((refusal: Refusal) => void) | undefined;
  /** Called after each bulk that created tasks, with the first and the last of their ids; not with `onEnqueued`. */
  readonly onCreated?: ((ends: readonly [first: string, last: string]) => void) | undefined;
}

/** The answer to an enqueue of many. */
export interface EnqueuedMany extends EnqueuedCounts {
  readonly created: number;
  /** Not created because their keys were held. */
  readonly existing: number;
  /** They replaced the holders of their keys, which were waiting. */
  readonly replaced: number;
  /** They run after the holders of their keys, which are running. */
  readonly again: number;
  /** Not created because the tasks to replace, which hold the keys, have other types or groups. */
  readonly refused: number;
}

/**
 * Enqueues bulks, one statement each. If it fails and each bulk is a transaction, throws PartlyEnqueuedError, which
 * counts the tasks that are enqueued.
 */
export async function sendBulks(
  db: Queryable,
  bulks: AsyncIterable<Bulk>,
  { commits, explain, signal, onSent, onEnqueued, onRefused, onCreated }: SendOptions,
): Promise<EnqueuedMany> {
  let [sent, sending] = [0, 0];
  const total = { created: 0, replaced: 0, again: 0, refused: 0 };
  try {
    for await (const bulk of bulks) {
      if (signal?.aborted) throw signal.reason;
      sending = bulk.count;
      const answers = onEnqueued && (await enqueueMany(db, bulk));
      const { refusals, ends, ...counts } = answers ? countsOf(answers) : await enqueueCounted(db, bulk);
      sending = 0;
      for (const answer of COUNTED) total[answer] += counts[answer];
      for (const refusal of refusals) onRefused?.({ ...refusal, place: sent + refusal.place });
      sent += bulk.count;
      if (ends !== null) onCreated?.(ends);
      if (answers) onEnqueued?.(answers);
      onSent?.(sent);
    }
  } catch (error) {
    const cause = explain(error);
    if (commits === 'with the caller') throw cause;
    throw new PartlyEnqueuedError(cause, sent, isUndone(error) ? 0 : sending);
  }
  const { created, replaced, again, refused } = total;
  return { ...total, existing: sent - created - replaced - again - refused };
}

const COUNTED = ['created', 'replaced', 'again', 'refused'] as const;

function countsOf(answers: readonly Enqueued[]): EnqueuedBulk {
  const count = (answer: EnqueueAnswer) => answers.filter((one) => one.answer === answer).length;
  return {
    created: count('created'),
    replaced: count('replaced'),
    again: count('again'),
    refused: count('key_of_another'),
    refusals: [],
    ends: null,
  };
}
