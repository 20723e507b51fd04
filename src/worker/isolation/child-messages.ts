import type { Outcome } from '../../domain/outcome.ts';
import type { Level } from '../../lib/level.ts';
import type { AttemptTask } from '../attempt/attempt.ts';
import type { AbortReason } from '../handlers/handler.ts';
import type { HandlerLine } from '../log/events.ts';

/** A task for a handler's process. */
export interface RunRequest {
  /** Of the handler's file. */
  readonly path: string;
  readonly task: AttemptTask;
}

/** What a handler's process is sent. */
export type ToChild =
  | ({ readonly kind: 'run' } & RunRequest)
  | { readonly kind: 'abort'; readonly reason: AbortReason };

/** What it sends back. */
export type FromChild =
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  /** Something in it went wrong that nobody caught: no other task is to run in it. */
  | { readonly kind: 'spoilt' }
  | {
      readonly kind: 'log';
      readonly level: Level;
      readonly message: string;
      readonly line: HandlerLine;
    };
