import { describe, expect, inject, it } from 'vitest';
import { begin, playAll, useModel, walk } from './database.ts';
import { LEASES } from './explore.ts';
import { type Chunk, chunksOf, countOf, growTree, rootedIn } from './paths.ts';
import { randomSequence, seeded } from './sequences.ts';
import { BEGINNINGS } from './world.ts';

/**
 * Servers differ in how they do things, hardly in what they do: a run plays a tenth of the sequences that are one event
 * shorter, on the older server a twentieth, drawn anew each time; all of them, and more random ones, with TASKQ_FULL.
 */
const isOlder = inject('systemBinDir') !== undefined;
const isFull = Boolean(process.env.TASKQ_FULL);
const less = isFull && !isOlder ? 0 : 1;
const share = isFull ? 1 : isOlder ? 1 / 20 : 1 / 10;
/** Random ones from each beginning. */
const SEQUENCES = isFull ? 500 : isOlder ? 15 : 40;
const seed = Number(process.env.TASKQ_SEED ?? Math.floor(Math.random() * 1e9));

const model = useModel();

describe('the SQL functions do what the model does', { timeout: 900_000 }, () => {
  const beginnings = BEGINNINGS.map(({ depth, ...beginning }) => ({ ...beginning, depth: depth - less }));
  const which = share === 1 ? 'every sequence' : `1/${Math.round(1 / share)} of the sequences`;
  it.each(beginnings)(
    `in ${which} of up to $depth events from $name (TASKQ_SEED=${seed})`,
    async ({ world, depth }) => {
      const random = seeded(seed);
      const { branches, count } = growTree(world, depth, LEASES);
      expect(count).toBeGreaterThan(1000);
      await begin(model.client, world);
      for (const chunk of drawn([...chunksOf(branches, 1000)], share * count, random))
        expect(await walk(model.client, rootedIn(chunk))).toBeUndefined();
    },
  );

  it(`in ${SEQUENCES * BEGINNINGS.length} longer sequences, half of them where history has no partition for a day (TASKQ_SEED=${seed})`, async () => {
    const random = seeded(seed);
    for (const sequences of [Math.ceil(SEQUENCES / 2), Math.floor(SEQUENCES / 2)]) {
      for (const { world } of BEGINNINGS) {
        await begin(model.client, world);
        for (let left = sequences; left > 0; left -= 250) {
          const some = Array.from({ length: Math.min(left, 250) }, () => randomSequence(world, random));
          expect(await playAll(model.client, some)).toBeUndefined();
        }
      }
      await dropPartitionsOfDays();
    }
  });
});

/** Chunks in any order, until they have this many events: one run takes as long as another. */
function* drawn(chunks: readonly Chunk[], events: number, random: () => number): Iterable<Chunk> {
  const shuffled = chunks.map((chunk) => ({ chunk, place: random() })).sort((a, b) => a.place - b.place);
  let left = events;
  for (const { chunk } of shuffled) {
    if (left <= 0) return;
    left -= countOf(chunk.next);
    yield chunk;
  }
}

/** What is left is what a schema has in which no worker has run for months. */
async function dropPartitionsOfDays(): Promise<void> {
  const { rows } = await model.client.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits
     where inhparent in ('taskq.finished_tasks'::regclass, 'taskq.task_errors'::regclass)
       and inhrelid::regclass::text !~ '_unplaced$'`,
  );
  for (const { name } of rows) await model.client.query(`drop table ${name}`);
}
