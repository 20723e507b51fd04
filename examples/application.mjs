// The smallest application with a worker inside: what else it does, it does in the same process.
//
//   node application.mjs             # Ctrl-C ends it once what runs has ended
//
import { once } from 'node:events';
import { createWorker, Snooze } from 'taskq';

const printed = new Set();

const worker = createWorker({
  databaseUrl: process.env.DATABASE_URL,
  grace: '10s',
  handlers: {
    'send-receipt': async ({ order }, ctx) => {
      // It looks until the receipt is printed; what each look saw stays with the task: taskq show.
      if (!printed.has(order)) {
        printed.add(order);
        throw new Snooze('1s', { result: { order, state: 'printing' } });
      }
      ctx.log.info('sent', { order });
      return { sent: true, order };
    },
  },
  onEvent: ({ event, level, message, ...fields }) => {
    if (level !== 'debug') console.log(event, message, fields);
  },
});

await worker.start();
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
await worker.stop();
