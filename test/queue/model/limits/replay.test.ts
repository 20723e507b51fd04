import { expect, it } from 'vitest';
import { randomOf } from '../../random.ts';
import { useDatabase } from '../../session.ts';
import { registerWorker } from '../../worker.ts';
import { playAtRandom } from './play.ts';

const SEQUENCES = Number(process.env.TASKQ_ROUNDS ?? 15);
const seed = Number(process.env.TASKQ_SEED ?? Math.floor(Math.random() * 1e9));

const queue = useDatabase();

it(`claims bring what the model of limits says, in ${SEQUENCES} sequences (TASKQ_SEED=${seed})`, async () => {
  const workers = [
    await registerWorker(await queue.session()),
    await registerWorker(await queue.session()),
  ] as const;
  const random = randomOf(seed);
  for (let sequence = 0; sequence < SEQUENCES; sequence++)
    expect(await playAtRandom({ admin: queue.admin, workers }, random)).toBeUndefined();
}, 120_000);
