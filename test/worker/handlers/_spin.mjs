import { setTimeout as sleep } from 'node:timers/promises';
import { witness } from './_witness.mjs';

const nothing = new Int32Array(new SharedArrayBuffer(4));

/**
 * Keeps its thread for `ms`, starting after `after`, without yielding; without `ms` forever. It waits instead of
 * computing: for the event loop that is the same, and other tests need the CPU.
 */
export async function spin({ ms = Infinity, after = 0 }, ctx) {
  await witness(ctx, 'start');
  if (after > 0) await sleep(after);
  const end = performance.now() + ms;
  while (performance.now() < end) Atomics.wait(nothing, 0, 0, 20);
  await witness(ctx, 'end');
  return { pid: process.pid };
}
