import type { Outcome } from '../../domain/outcome.ts';
import type { ClaimedTask } from '../../domain/task.ts';
import type { Attempt } from '../attempt/attempt.ts';
import type { HeldLease } from './lease-table.ts';

/**
 * The state of a held task. A claim in flight comes first, as a reservation:
 *
 *     reserved ─answered─▶ waiting ─start─▶ running ─report, release─▶ reporting ─settled, given back─▶ gone
 *        │ refused, lost      │ ▲              │  └─ lost, recorded ─▶ gone   ▲
 *        ▼                    │ └── put back ──┘                              │
 *     no task                 ├─ report (cancelled), release ─────────────────┘
 *                             └─ lost ─▶ gone
 *
 * A running task is put back if its attempt has not begun after all, and recorded by its handler's own transaction,
 * which leaves nothing to report.
 */
export type HeldState = 'waiting' | 'running' | 'reporting' | 'gone';

/** A task that this worker holds, from its claim until its report is answered. Only the ledger changes it. */
export interface HeldTask extends HeldLease {
  readonly task: ClaimedTask;
  /** `performance.now()`. */
  readonly claimedAt: number;
  readonly state: HeldState;
  /** Undefined: it has not started. */
  readonly attempt: Attempt | undefined;
  /** The outcome to record. A task at `reporting` without one is given back. */
  readonly outcome: Outcome | null;
  /** How long it ran, in milliseconds; null: it did not run. */
  readonly ranMs: number | null;
  /** The state of a report that could not be delivered at once; undefined: no delivery has failed. */
  readonly delivery: Delivery | undefined;
}

/** A held task that has started. */
export type StartedTask = HeldTask & { readonly attempt: Attempt };

/** A held task with something to record. */
export type EndedTask = HeldTask & { readonly outcome: Outcome };

/** A report that could not be delivered at once. */
export interface Delivery {
  /**
   * It was sent, and the answer never came. If the repeat is answered `lost`, the first one was most likely recorded: a
   * task that is not kept leaves no row as proof.
   */
  readonly isRepeat: boolean;
  /** The database has refused this report by itself: it is sent alone, so that it delays no other. */
  readonly isAlone: boolean;
  /** Another transaction had the task's row locked when it was last sent. */
  readonly isLocked: boolean;
  /** How often the database has waited for that transaction in vain. */
  readonly vainWaits: number;
  /** How often it was refused by itself for a conflict, which should pass. */
  readonly conflicts: number;
  /** How long it waits before it is sent again, and until when (`performance.now()`). */
  readonly waitMs: number;
  readonly notBefore: number;
  /** Why the database refused the outcome itself; undefined: it did not. */
  readonly refusal: unknown;
}
