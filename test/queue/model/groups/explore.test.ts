import { describe, expect, it } from 'vitest';
import { seeded } from '../sequences.ts';
import { BROKEN } from './broken.ts';
import { randomSequence } from './events.ts';
import { explore, type Graph, type Violation } from './explore.ts';
import { INVARIANTS } from './invariants.ts';
import { step } from './step.ts';
import { BEGINNINGS } from './world.ts';

const seed = Number(process.env.TASKQ_SEED ?? Math.floor(Math.random() * 1e9));

describe('the protocol of groups', () => {
  it.each(BEGINNINGS)(
    'keeps its invariants with three tasks in the nearest states of: $name',
    ({ world }) => {
      const found = explore(world, step, { tasks: 3, most: 1_500 });
      expect(found).not.toHaveProperty('trace');
      console.log(found as Graph);
    },
  );

  it.each(BEGINNINGS)(`and in long sequences of: $name (TASKQ_SEED=${seed})`, ({ name, world }) => {
    const random = seeded(seed + name.length);
    for (let sequence = 0; sequence < 100; sequence++) {
      randomSequence(world, random, (before, event) => {
        const after = step(before, event).world;
        const broken = INVARIANTS.find(({ holds }) => !holds({ before, event, after }));
        if (broken) expect.fail(`${broken.rule}: ${JSON.stringify([before, event])}`);
        return after;
      });
    }
  });

  it.each(BROKEN)('is seen to break when $name', (broken) => {
    let found: Graph | Violation | undefined;
    for (const { world } of BEGINNINGS) {
      found = explore(world, broken.step, { tasks: 3, most: 1_500 });
      if ('trace' in found) break;
    }
    expect((found as Violation).invariant?.rule).toContain(broken.breaks);
  });
});
