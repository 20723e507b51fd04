import { witness } from './_witness.mjs';

const LEFT = {
  exit: () => process.exit(7),
  throw: () => {
    throw new Error('left behind');
  },
};

/** Ends, and leaves something that ends its process, or throws, `ms` later. */
export default {
  isolation: 'process',
  async run({ what, ms }, ctx) {
    await witness(ctx, 'start');
    setTimeout(LEFT[what], ms);
    return { pid: process.pid };
  },
};
