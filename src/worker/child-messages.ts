import type { Outcome } from '../domain/outcome.ts';
import type { Level } from './events.ts';
import type { AbortReason } from './handler.ts';

/** What a handler's process is told. */
export type ToChild =
  | {
      readonly kind: 'run';
      readonly type: string;
      readonly path: string;
      readonly payload: unknown;
      readonly context: { readonly id: string; readonly queue: string; readonly attempt: number };
    }
  | { readonly kind: 'abort'; readonly reason: AbortReason };

/** What it answers. */
export type FromChild =
  | { readonly kind: 'outcome'; readonly outcome: Outcome }
  | {
      readonly kind: 'log';
      readonly level: Level;
      readonly message: string;
      readonly fields: Readonly<Record<string, unknown>>;
    };
