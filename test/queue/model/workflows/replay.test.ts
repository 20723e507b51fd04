import { expect, inject, it } from 'vitest';
import { playAll, useModel } from '../database.ts';
import { seeded } from '../sequences.ts';
import { playAtRandom, specOf } from './play.ts';
import { BEGINNINGS } from './world.ts';

/** From each beginning. */
const SEQUENCES = inject('systemBinDir') === undefined ? Number(process.env.TASKQ_ROUNDS ?? 20) : 7;
const seed = Number(process.env.TASKQ_SEED ?? Math.floor(Math.random() * 1e9));

const model = useModel(new URL('driver.sql', import.meta.url));

it.each(BEGINNINGS)(
  `the SQL functions do what the model of workflows does, in ${SEQUENCES} sequences from: $name (TASKQ_SEED=${seed})`,
  async ({ name, world }) => {
    const random = seeded(seed + name.length);
    await model.client.query('select model.start($1)', [specOf(world)]);
    for (let left = SEQUENCES; left > 0; left -= 60) {
      const some = Array.from({ length: Math.min(left, 60) }, () => playAtRandom(world, random));
      expect(await playAll(model.client, some)).toBeUndefined();
    }
  },
  300_000,
);
