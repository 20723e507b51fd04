import type { HeldKey } from '../queue/operate/keys.ts';

/** The answer to a purge or a discard of a task. */
export interface Deletion<Answer extends string> {
  readonly id: string;
  readonly answer: Answer;
  /** The status of a task that was left as it is; null: no such task is known. */
  readonly status: string | null;
  /** A key that the task held for a period, or forever, and that stays held; null: none. `releaseKey` frees it. */
  readonly heldKey: StillHeldKey | null;
}

/** A key that outlives its task. */
export interface StillHeldKey {
  readonly queue: string;
  readonly key: string;
  /** When it becomes free; null: never. */
  readonly until: Date | null;
}

export type PurgeAnswer = Deletion<'purged' | 'not_finished'>;

/** `left_out`: the filter's `byHand` excludes it. */
export type DiscardAnswer = Deletion<'discarded' | 'left_out' | 'not_dead'>;

interface Deleted<Answer extends string> {
  readonly id: string;
  readonly answer: Answer;
  readonly status: string | null;
  readonly held_key: HeldKey | null;
}

/** Converts a row of `taskq.purge` or `taskq.discard`. */
export function deletionOf<Answer extends string>(row: Deleted<Answer>): Deletion<Answer> {
  const { id, answer, status, held_key: held } = row;
  if (held === null) return { id, answer, status, heldKey: null };
  const until = held.until === null ? null : new Date(held.until);
  return { id, answer, status, heldKey: { queue: held.queue, key: held.key, until } };
}
