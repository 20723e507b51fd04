import { type BackendFactory, createPostgresBackend, type IQueueBackend, Queue, Worker } from 'bullmq';
import type { Payload } from '../lib/payload.ts';
import type { Peer, StoreAddress, WorkOrder } from './peer.ts';

const QUEUE = 'bench';

/** Its guide recommends a concurrency of 100 to 300 for work that waits. */
const BEST_CONCURRENCY = 100;

type Options = ConstructorParameters<typeof Worker<Payload>>[2];

export const bullmqOnRedis: Peer = peerOn('redis', (address) => ({
  connection: { path: address, maxRetriesPerRequest: null },
}));
export const bullmqOnPostgres: Peer = peerOn(
  'postgres',
  (connectionString) => ({ connection: { connectionString, migrate: true } }),
  createPostgresBackend as unknown as BackendFactory<IQueueBackend>,
);

function peerOn(
  store: Peer['store'],
  optionsFor: (address: StoreAddress) => object,
  backend?: BackendFactory<IQueueBackend>,
): Peer {
  const open = (address: StoreAddress) =>
    new Queue<Payload>(QUEUE, optionsFor(address) as never, backend as never);
  const withQueue = async <T>(
    address: StoreAddress,
    work: (queue: Queue<Payload>) => Promise<T>,
  ): Promise<T> => {
    const queue = open(address);
    try {
      return await work(queue);
    } finally {
      await queue.close();
    }
  };
  return {
    store,
    install: (address) => withQueue(address, async (queue) => void (await queue.waitUntilReady())),
    openProducer: async (address) => {
      const queue = open(address);
      return {
        add: (payload) => queue.add('bench', payload as never),
        addMany: (payloads) => queue.addBulk(payloads.map((data) => ({ name: 'bench', data })) as never),
        close: () => queue.close(),
      };
    },
    countLeft: (address) =>
      withQueue(address, (queue) => queue.getJobCountByTypes('wait', 'active', 'delayed', 'prioritized')),
    async prepare(order, run) {
      return () => {
        const worker = new Worker<Payload>(
          QUEUE,
          async ({ data, attemptsMade }) => run(data, attemptsMade + 1),
          { ...optionsFor(order.address), ...settingsOf(order) } as Options,
          backend as never,
        );
        worker.on('error', (error) => console.error('bullmq:', error.message));
        return { stop: () => worker.close() };
      };
    },
  };
}

function settingsOf({ tuning, history, concurrency = 8 }: WorkOrder): object {
  return {
    concurrency: tuning === 'best' ? BEST_CONCURRENCY : concurrency,
    ...(!history && { removeOnComplete: { count: 0 } }),
  };
}
