import type { EnqueueOptions } from './enqueue-options.ts';

/** Tasks that a handler enqueues with the end of its own: they are stored if and only if its completion is. */
export interface FollowUps {
  /** JSON text: an array as `taskq.settle_and_enqueue` takes it. */
  readonly tasks: string;
  /** Some have keys or are steps, which a producer may have in an open transaction. */
  readonly haveKeys: boolean;
}

/** Options of a follow-up besides its type and payload. */
export interface FollowUpOptions extends EnqueueOptions {
  /** Id of the workflow that it becomes a step of; default, with `step` or `after`: that of this task. */
  readonly workflow?: string;
  /** Accept a type that the database does not know. */
  readonly allowUnknown?: true;
}

/** At most this many tasks may follow one. */
export const MAX_FOLLOW_UPS = 10_000;
/** Limit their text together, in characters: one statement stores them. */
export const MAX_FOLLOW_UPS_LENGTH = 16_000_000;
