import { setTimeout as sleep } from 'node:timers/promises';

/** A schema that takes its time. */
const schema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: async (value) => {
      await sleep(20);
      return typeof value.to === 'string'
        ? { value }
        : { issues: [{ message: 'expected text', path: ['to'] }] };
    },
  },
};

export default { schema, run: ({ to }) => to };
