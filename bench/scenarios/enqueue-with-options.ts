import { makeWorkerUtils } from 'graphile-worker';
import pg from 'pg';
import { payloadOf, SMALL } from '../lib/payload.ts';
import { produce } from '../lib/produce.ts';
import { TaskQueue } from '../lib/product.ts';
import type { Bench } from '../lib/scenario.ts';
import { quiet, TASK } from '../peers/graphile-worker.ts';
import type { StoreAddress, SystemName } from '../peers/peer.ts';
import { TYPE } from '../peers/taskq.ts';

/** Arrays of 1,000 in which every task sets every option, including a unique key. */
export async function enqueueWithOptions(bench: Bench, address: StoreAddress): Promise<void> {
  const queue = new TaskQueue({ databaseUrl: address });
  await inArrays(bench, 'taskq', (numbers) =>
    queue.enqueueMany(numbers.map(taskWithOptions), { allowUnknown: true }),
  );
  await queue.close();
}

/** The same with every option of a graphile-worker job. */
export async function addJobsWithOptions(bench: Bench, address: StoreAddress): Promise<void> {
  const pgPool = new pg.Pool({ connectionString: address, max: 1 });
  pgPool.on('error', () => {});
  pgPool.on('connect', (client) => client.on('error', () => {}));
  const utils = await makeWorkerUtils({ pgPool, logger: quiet });
  await inArrays(bench, 'graphile-worker', (numbers) => utils.addJobs(numbers.map(jobWithOptions)));
  await utils.release();
  await pgPool.end();
}

async function inArrays(
  bench: Bench,
  who: SystemName,
  add: (numbers: readonly number[]) => Promise<unknown>,
): Promise<void> {
  bench.progress(`arrays of 1,000, all options: ${who}`);
  const rate = await produce(bench, { producers: 1, size: 1000 }, add);
  bench.note('arrays of 1,000, all options', who, rate, 'tasks/s');
}

function jobWithOptions(n: number) {
  return {
    identifier: TASK,
    payload: payloadOf(n, SMALL),
    queueName: 'reports',
    priority: 3,
    runAt: new Date(Date.now() + 600_000),
    maxAttempts: 5,
    jobKey: `report-${n}`,
    flags: ['daily'],
  };
}

function taskWithOptions(n: number) {
  return {
    type: TYPE,
    payload: payloadOf(n, SMALL),
    queue: 'reports',
    priority: 3,
    delay: '10m',
    maxAttempts: 5,
    timeout: '30s',
    expires: '1d',
    key: `report-${n}`,
    tags: { batch: 'daily' },
    retention: '30d',
    backoff: { kind: 'exponential', base: '5s', factor: 2, max: '1h', jitter: 0.2 },
  } as const;
}
