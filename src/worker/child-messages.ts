import type { Outcome } from '../domain/outcome.ts';
import type { Level } from '../lib/level.ts';
import type { AbortReason } from './handler.ts';

/** A task for a handler's process. */
export interface Order {
  readonly path: string;
  /** JSON text. */
  readonly payload: string;
  readonly context: {
    readonly id: string;
    readonly type: string;
    readonly queue: string;
    readonly attempt: number;
    readonly traceparent: string | null;
  };
}

/** What a handler's process is told. */
export type ToChild =
  | ({ readonly kind: 'run' } & Order)
  | { readonly kind: 'abort'; readonly reason: AbortReason };

/** What it answers. */
export type FromChild =
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  /** Something in it went wrong that nobody caught: no other task is to run in it. */
  | { readonly kind: 'spoilt' }
  | {
      readonly kind: 'log';
      readonly level: Level;
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>>;
    };
