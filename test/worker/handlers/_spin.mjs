import { setTimeout as sleep } from 'node:timers/promises';
import { witness } from './_witness.mjs';

/** Keeps its thread busy for `ms`, starting after `after`, without yielding; without `ms` for ever. */
export async function spin({ ms = Infinity, after = 0 }, ctx) {
  await witness(ctx, 'start');
  if (after > 0) await sleep(after);
  const end = performance.now() + ms;
  while (performance.now() < end);
  await witness(ctx, 'end');
  return { pid: process.pid };
}
