import { Logger, makeWorkerUtils, run as runGraphile, runMigrations } from 'graphile-worker';
import pg from 'pg';
import { withClient } from '../lib/client.ts';
import type { Payload } from '../lib/payload.ts';
import type { Peer, WorkOrder } from './peer.ts';

export const TASK = 'bench';

/** Prints only errors. */
export const quiet = new Logger(() => (level, message) => {
  if (level === 'error') console.error(`graphile-worker: ${message}`);
});

/** The settings of its own benchmark (perfTest/graphile.config.js), which its page on performance recommends. */
const BEST: GraphileConfig.WorkerOptions = {
  concurrentJobs: 24,
  maxPoolSize: 25,
  localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

export const graphileWorker: Peer = {
  store: 'postgres',
  install: (address) => runMigrations({ connectionString: address, logger: quiet }),
  addStatement: `select graphile_worker.add_job('${TASK}', $1)`,
  async openProducer(address, connections) {
    const pgPool = new pg.Pool({ connectionString: address, max: connections, idleTimeoutMillis: 0 });
    pgPool.on('error', () => {});
    pgPool.on('connect', (client) => client.on('error', () => {}));
    const utils = await makeWorkerUtils({ pgPool, logger: quiet });
    return {
      add: (payload) => utils.addJob(TASK, payload),
      addMany: (payloads) => utils.addJobs(payloads.map((payload) => ({ identifier: TASK, payload }))),
      async close() {
        await utils.release();
        await pgPool.end();
      },
    };
  },
  countLeft: (address) =>
    withClient(address, async (client) => {
      const { rows } = await client.query<{ left: string }>(
        'select count(*) as left from graphile_worker._private_jobs',
      );
      return Number(rows[0]!.left);
    }),
  prepare: async (order, run) => async () => {
    const runner = await runGraphile(
      {
        preset: {
          worker: {
            connectionString: order.address,
            crontabFile: '/nowhere',
            logger: quiet,
            ...settingsOf(order),
          },
        },
        noHandleSignals: true,
      },
      { [TASK]: (payload, { job }) => void run(payload as Payload, job.attempts) },
    );
    return { stop: () => runner.stop() };
  },
};

function settingsOf({ tuning, concurrency = 8 }: WorkOrder): GraphileConfig.WorkerOptions {
  return tuning === 'best' ? BEST : { concurrentJobs: concurrency };
}
