import { expect, inject, it } from 'vitest';
import { playAll, useModel } from '../database.ts';
import { seeded } from '../sequences.ts';
import { playAtRandom, settingsOf } from './play.ts';
import { BEGINNINGS } from './world.ts';

/** From each beginning. */
const SEQUENCES = inject('systemBinDir') === undefined ? Number(process.env.TASKQ_ROUNDS ?? 40) : 12;
const seed = Number(process.env.TASKQ_SEED ?? Math.floor(Math.random() * 1e9));

const model = useModel(new URL('driver.sql', import.meta.url));

it.each(BEGINNINGS)(
  `the SQL functions do what the model of groups does, in ${SEQUENCES} sequences from: $name (TASKQ_SEED=${seed})`,
  async ({ name, world }) => {
    const random = seeded(seed + name.length);
    await model.client.query('select model.start($1)', [settingsOf(world.settings)]);
    const sequences = Array.from({ length: SEQUENCES }, () => playAtRandom(world, random));
    expect(await playAll(model.client, sequences)).toBeUndefined();
  },
  300_000,
);
