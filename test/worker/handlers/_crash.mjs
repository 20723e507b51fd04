import { setTimeout as sleep } from 'node:timers/promises';
import { witness } from './_witness.mjs';

const WAYS = {
  exit: () => process.exit(0),
  abort: () => process.abort(),
  segv: () => process.kill(process.pid, 'SIGSEGV'),
  term: () => process.kill(process.pid, 'SIGTERM'),
  memory: () => {
    for (const all = []; ; ) all.push(new Array(100_000).fill(all.length));
  },
};

/** Ends its own process. */
export async function crash({ how }, ctx) {
  await witness(ctx, 'start', how);
  WAYS[how]();
  await sleep(60_000, undefined, { signal: ctx.signal });
}
