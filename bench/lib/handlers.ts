import { setTimeout as sleep } from 'node:timers/promises';
import { clockMs } from './clock.ts';
import type { Payload } from './payload.ts';

/** What a task does: nothing but read its payload, take its time, or fail first now and then. */
export type HandlerKind =
  | { readonly kind: 'noop' }
  /** Tells the parent when each task started. */
  | { readonly kind: 'stamp' }
  | { readonly kind: 'sleep'; readonly ms: number }
  /** Every tenth fails at its first attempt; tells when each started. One that says so takes its time. */
  | { readonly kind: 'flaky' };

export interface Counted {
  /** Tasks that ended well since the last call. */
  takeDone(): number;
  /** Of those that tell: number and time of each start since the last call. */
  takeStarts(): readonly (readonly [n: number, at: number])[];
}

export type Run = (payload: Payload, attempt: number) => unknown;

/** Make the handler and what counts its runs. */
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
