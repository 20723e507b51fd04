import { setTimeout as sleep } from 'node:timers/promises';
import { count, witness } from './_witness.mjs';

const LEFT = {
  exit: () => process.exit(7),
  throw: () => {
    throw new Error('left behind');
  },
};

/** Ends, but leaves code behind that exits or throws when the event "now" is recorded. */
export default {
  isolation: 'process',
  async run({ what }, ctx) {
    await witness(ctx, 'start');
    void leave(what, ctx);
    return { pid: process.pid };
  },
};

async function leave(what, ctx) {
  while ((await count(ctx, 'now')) === 0) await sleep(20);
  setTimeout(LEFT[what], 0);
}
