import { once } from 'node:events';
import type { HandlerDefinition } from 'taskq';

/** Runs until it is asked to end. */
export default {
  async run(_, { signal }) {
    if (!signal.aborted) await once(signal, 'abort');
    throw signal.reason;
  },
} satisfies HandlerDefinition;
