import type { Completed, Outcome } from '../../domain/outcome.ts';
import type { StoredPayload } from '../../domain/payload.ts';
import type { Progress } from '../../domain/progress.ts';
import type { StoredError } from '../../domain/storable-error.ts';
import type { Level } from '../../lib/level.ts';
import type { ParentsPage, ParentsQuery } from '../../queue/inspect/get-parents.ts';
import type { AttemptTask, Completion } from '../attempt/attempt.ts';
import type { TransactionSettings } from '../attempt/handler-transactions.ts';
import type { AbortReason } from '../handlers/handler.ts';
import type { HandlerLine } from '../log/events.ts';

/** A task for a handler's process. */
export interface RunRequest {
  /** The path of the handler's file. */
  readonly path: string;
  readonly task: AttemptTask;
  /** The time limit of the attempt, in milliseconds; null: unlimited. The worker keeps it. */
  readonly timeoutMs: number | null;
}

/** A message to a handler's process. `key`: see `Keyed`. */
export type ToChild =
  /** The first one: where its handlers open transactions. */
  | { readonly kind: 'settings'; readonly transactions: TransactionSettings }
  | ({ readonly kind: 'run'; readonly key: string } & RunRequest)
  | { readonly kind: 'commit' }
  | { readonly kind: 'abort'; readonly reason: AbortReason }
  | ({ readonly kind: 'checked'; readonly check: number } & PayloadAnswer)
  | { readonly kind: 'parents'; readonly ask: number; readonly answer: ParentsAnswer };

/** The parents of the task's step, or why they could not be read. */
export type ParentsAnswer = ParentsPage | { readonly problem: string };

/** The worker's verdict on a payload; null: it has no schema of its type. */
export interface PayloadAnswer {
  readonly answer: 'fits' | null | { readonly problem: string };
}

/** A message from a handler's process. */
export type FromChild =
  /** It has taken its task: from here on its death is a failed attempt. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'outcome'; readonly outcome: Outcome; readonly completion: Completion }
  /** The handler's transaction is about to commit, once the worker has answered. */
  | { readonly kind: 'committing'; readonly outcome: Completed }
  /** Its handler enqueues a task: compare its payload with the schema of its type. */
  | { readonly kind: 'check'; readonly check: number; readonly type: string; readonly payload: StoredPayload }
  /** Its handler asks for the parents of its step. */
  | { readonly kind: 'parents'; readonly ask: number; readonly query: ParentsQuery }
  /** An error in it was not caught: run no other task in it. */
  | { readonly kind: 'spoilt' }
  | {
      readonly kind: 'log';
      readonly level: Level;
      readonly message: string;
      readonly line: HandlerLine;
    }
  | { readonly kind: 'progress'; readonly progress: Progress }
  | { readonly kind: 'warning'; readonly error: StoredError };

/**
 * What the process sends. The handler's own code may send messages over the same channel: only those with the key that
 * came with the task are the worker's.
 */
export interface Keyed {
  readonly key: string;
  readonly message: FromChild;
}
