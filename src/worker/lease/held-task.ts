import type { Outcome } from '../../domain/outcome.ts';
import type { ClaimedTask } from '../../domain/task.ts';
import type { Attempt } from '../attempt/attempt.ts';
import type { HeldLease } from './lease-table.ts';

/**
 * Where a held task stands. It only goes forward; a claim under way is a reservation, and comes before:
 *
 *     reserved ─answered─▶ waiting ─start─▶ running ─report, release─▶ reporting ─settled, given back, lost─▶ gone
 *                             └──────────────report, release───────────────▲
 *
 * What waits or runs may also be lost, which leaves nothing to report.
 */
export type Standing = 'waiting' | 'running' | 'reporting' | 'gone';

/** A task that this worker holds, from its claim to the answer to its report. Only the ledger writes it. */
export interface HeldTask extends HeldLease {
  readonly task: ClaimedTask;
  /** `performance.now()`. */
  readonly claimedAt: number;
  readonly standing: Standing;
  /** Its run; undefined: it has not started. */
  readonly attempt: Attempt | undefined;
  /** What to record. A task at `reporting` that has none is given back. */
  readonly outcome: Outcome | null;
  /** How long it ran, in milliseconds; null: it did not. */
  readonly ranMs: number | null;
  /** How its report has fared so far; undefined: it was not sent before. */
  readonly delivery: Delivery | undefined;
}

/** A held task that has started. */
export type StartedTask = HeldTask & { readonly attempt: Attempt };

/** A held task with something to record. */
export type EndedTask = HeldTask & { readonly outcome: Outcome };

/** A report that did not go through at once. */
export interface Delivery {
  /** It was sent, and the answer never came: a repeat that is `lost` is no loss. */
  readonly isRepeat: boolean;
  /** The database has refused this one by itself: it is sent alone, so that it holds up no other. */
  readonly isAlone: boolean;
  /** How long it waits before it is sent again, and until when (`performance.now()`). */
  readonly waitMs: number;
  readonly notBefore: number;
  /** Why the database refused the outcome itself; undefined: it did not. */
  readonly refusal: unknown;
}
