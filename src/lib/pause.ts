import { setTimeout as sleep } from 'node:timers/promises';
import { MAX_TIMER_MS } from './max-timer-ms.ts';

/** Waits for `ms` milliseconds (at most 24 days), or until the signal aborts. Never rejects. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(Math.min(ms, MAX_TIMER_MS), undefined, { signal }).catch(() => {});
}
