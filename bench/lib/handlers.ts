import { setTimeout as sleep } from 'node:timers/promises';
import { clockMs } from './clock.ts';
import type { Payload } from './payload.ts';

/** What a task does besides reading its payload: nothing, take its time, or sometimes fail first. */
export type HandlerKind =
  | { readonly kind: 'noop' }
  /** Logs a line: taskq alone. */
  | { readonly kind: 'log' }
  /** Calls the SQL function that the payload names: taskq alone. */
  | { readonly kind: 'function'; readonly atomic: boolean }
  /** Reports to the parent when each task started. */
  | { readonly kind: 'stamp' }
  | { readonly kind: 'sleep'; readonly ms: number }
  /**
   * Every tenth fails at its first attempt; reports when each started. A payload with `sleepMs` takes that long and is
   * not counted.
   */
  | { readonly kind: 'flaky' };

export interface Counted {
  /** Tasks that completed since the last call. */
  takeDone(): number;
  /** For the handlers that report: number and time of each start since the last call. */
  takeStarts(): readonly (readonly [n: number, at: number])[];
}

export type Run = (payload: Payload, attempt: number) => unknown;

/** Make the handler and the counter of its runs. */
export function makeHandler(handler: HandlerKind): { run: Run; counted: Counted } {
  let done = 0;
  let starts: [number, number][] = [];
  const counted: Counted = {
    takeDone() {
      const taken = done;
      done = 0;
      return taken;
    },
    takeStarts() {
      const taken = starts;
      starts = [];
      return taken;
    },
  };
  const end = ({ n }: Payload): void => {
    if (typeof n !== 'number') throw new Error('a payload came without its number');
    done += 1;
  };
  const stamp = (payload: Payload): void => {
    starts.push([payload.n, clockMs()]);
    end(payload);
  };
  const runs: Record<HandlerKind['kind'], Run> = {
    noop: end,
    log: end,
    function: end,
    stamp,
    async flaky(payload, attempt) {
      if (payload.sleepMs !== undefined) return sleep(payload.sleepMs);
      if (attempt === 1 && payload.n % 10 === 0) throw new Error('the first attempt fails');
      stamp(payload);
    },
    async sleep(payload) {
      if (handler.kind === 'sleep') await sleep(handler.ms);
      stamp(payload);
    },
  };
  return { run: runs[handler.kind], counted };
}
