import { once } from 'node:events';

/** Runs until it is asked to end. */
export default {
  async run(_, { signal }) {
    if (!signal.aborted) await once(signal, 'abort');
    throw signal.reason;
  },
};
