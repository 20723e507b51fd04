import { after } from '../../lib/after.ts';
import type { AbortReason } from '../handlers/handler.ts';

/** How long a handler's process may take to end after an abort, in milliseconds. */
function timeToEndMs(reason: AbortReason, killAfterMs: number): number {
  switch (reason) {
    case 'timeout':
    case 'cancelled':
      return killAfterMs;
    // Another worker has the task already, or soon will.
    case 'lost':
    case 'shutdown':
      return 0;
    default:
      return reason satisfies never;
  }
}

/** Calls `kill` if a handler's process has not ended in time after an abort. A further abort can only shorten the time. */
export class KillTimer {
  readonly #killAfterMs: number;
  readonly #kill: () => void;
  /** `performance.now()`. */
  #killAt = Infinity;
  #cancel = () => {};

  constructor(killAfterMs: number, kill: () => void) {
    this.#killAfterMs = killAfterMs;
    this.#kill = kill;
  }

  /** The handler is asked to end. */
  start(reason: AbortReason): void {
    const ms = timeToEndMs(reason, this.#killAfterMs);
    const killAt = performance.now() + ms;
    if (killAt >= this.#killAt) return;
    this.#killAt = killAt;
    this.#cancel();
    this.#cancel = after(ms, this.#kill);
  }

  /** The handler has ended, or its process has. */
  clear(): void {
    this.#cancel();
  }
}
