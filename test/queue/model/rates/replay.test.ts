import { expect, it } from 'vitest';
import { randomOf } from '../../random.ts';
import { useDatabase } from '../../session.ts';
import { registerWorker } from '../../worker.ts';
import { playAtRandom } from './play.ts';

const SEQUENCES = Number(process.env.TASKQ_ROUNDS ?? 10);
const seed = Number(process.env.TASKQ_SEED ?? Math.floor(Math.random() * 1e9));

const queue = useDatabase();

it(`claims give out what the model of rates says, in ${SEQUENCES} sequences (TASKQ_SEED=${seed})`, async () => {
  const worker = await registerWorker(await queue.session());
  const random = randomOf(seed);
  for (let sequence = 0; sequence < SEQUENCES; sequence++)
    expect(await playAtRandom(queue.admin, worker, random)).toBeUndefined();
}, 120_000);
