import { badOption } from '../lib/bad-option.ts';
import { didYouMean } from '../lib/nearest.ts';
import {
  type EnqueueOptions,
  normaliseEnqueueOptions,
  type StoredEnqueueOptions,
} from './enqueue-options.ts';
import type { StoredPayload } from './payload.ts';

/** What can be changed in a waiting task. */
export interface EditChanges extends Pick<EnqueueOptions, 'queue' | 'priority' | 'delay' | 'at'> {
  /** Replaces the payload. */
  readonly payload?: unknown;
}

/** The `_changes jsonb` of `taskq.edit`, except that the payload is JSON text. */
export interface StoredChanges
  extends Readonly<Pick<StoredEnqueueOptions, 'queue' | 'priority' | 'delay_ms' | 'at'>> {
  readonly payload?: string;
}

/**
 * Checks changes and converts them to the database's form; `payload` is the new one, undefined to leave it. Throws
 * TaskqError, which names a change by `nameOf`.
 */
export function storedChanges(
  changes: Omit<EditChanges, 'payload'>,
  payload: StoredPayload | undefined,
  nameOf: (change: string) => string = (change) => change,
): StoredChanges {
  const unknown = Object.keys(changes).find((name) => !OPTIONS.includes(name));
  if (unknown !== undefined)
    throw badOption(`unknown change "${unknown}"${didYouMean(unknown, ['payload', ...OPTIONS])}`);
  const stored = {
    ...normaliseEnqueueOptions(changes, nameOf),
    ...(payload !== undefined && { payload: payload.text }),
  };
  if (Object.keys(stored).length > 0) return stored;
  throw badOption(`nothing to change: give ${['payload', ...OPTIONS].map(nameOf).join(', ')}`);
}

const OPTIONS = ['delay', 'at', 'priority', 'queue'];
