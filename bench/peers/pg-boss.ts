import { setTimeout as sleep } from 'node:timers/promises';
import { PgBoss } from 'pg-boss';
import { withClient } from '../lib/client.ts';
import type { Payload } from '../lib/payload.ts';
import type { Peer, StoreAddress } from './peer.ts';

const QUEUE = 'bench';
const BATCH = 500;

/** Without its supervisor, which plays no part in what a producer or a worker does. */
async function openBoss(address: StoreAddress, max = 10): Promise<PgBoss> {
  const boss = new PgBoss({ connectionString: address, max, supervise: false, schedule: false });
  boss.on('error', (error) => console.error('pg-boss:', error));
  return boss.start();
}

/** It always keeps completed jobs. */
export const pgBoss: Peer = {
  store: 'postgres',
  async install(address) {
    const boss = await openBoss(address);
    await boss.createQueue(QUEUE);
    await boss.stop();
  },
  async openProducer(address, connections) {
    const boss = await openBoss(address, connections);
    return {
      add: (payload) => boss.send(QUEUE, payload),
      addMany: (payloads) =>
        boss.insert(
          QUEUE,
          payloads.map((data) => ({ data })),
        ),
      close: () => boss.stop(),
    };
  },
  countLeft: (address) =>
    withClient(address, async (client) => {
      const { rows } = await client.query<{ left: string }>(
        `select count(*) as left from pgboss.job where name = $1 and state < 'completed'`,
        [QUEUE],
      );
      return Number(rows[0]!.left);
    }),
  async prepare({ address, tuning, concurrency = 8 }, run) {
    return async () => {
      const boss = await openBoss(address);
      const end = tuning === 'best' ? drain(boss, run) : undefined;
      if (tuning === 'defaults') {
        await boss.work<Payload>(QUEUE, { localConcurrency: concurrency }, async (jobs) => {
          for (const { data } of jobs) await run(data, 1);
        });
      }
      return {
        async stop() {
          await end?.();
          await boss.stop({ timeout: 5000 });
        },
      };
    };
  },
};

/** Fetch and complete in batches, in a loop. Returns a function that stops it. */
function drain(boss: PgBoss, run: (payload: Payload, attempt: number) => unknown): () => Promise<void> {
  let stopping = false;
  const loop = async () => {
    while (!stopping) {
      const jobs = await boss.fetch<Payload>(QUEUE, { batchSize: BATCH });
      for (const { data } of jobs) run(data, 1);
      if (jobs.length > 0)
        await boss.complete(
          QUEUE,
          jobs.map(({ id }) => id),
        );
      else await sleep(5);
    }
  };
  const looping = loop();
  return () => {
    stopping = true;
    return looping;
  };
}
