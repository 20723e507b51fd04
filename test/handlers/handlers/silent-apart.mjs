import { defineChannel } from 'taskq';

export default defineChannel({
  isolation: 'process',
  call: (_, { signal }) =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error(signal.reason)))),
});
