import { normaliseEnqueueOptions } from '../domain/enqueue-options.ts';
import type { StoredPayload } from '../domain/payload.ts';
import { toDurationMs } from '../lib/duration.ts';
import type { ReviveOptions } from '../queue/operate/revive.ts';

interface GivenOptions {
  readonly payload: StoredPayload | undefined;
  readonly delay: string | number | undefined;
  readonly maxAttempts?: number | 'unlimited' | undefined;
}

/** Converts the options of a revival or a rerun. Throws TaskqError for an invalid one. */
export function reviveOptions({ payload, delay, maxAttempts }: GivenOptions): ReviveOptions {
  const { max_attempts: most } = normaliseEnqueueOptions({ maxAttempts });
  return {
    ...(payload !== undefined && { payload: payload.text }),
    ...(delay !== undefined && { delayMs: toDurationMs(delay, 'delay') }),
    ...(most !== undefined && { maxAttempts: most }),
  };
}
