import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { Lane } from '../../src/lib/lane.ts';

test('one thing runs at a time, in order, whatever becomes of the one before', async () => {
  const lane = new Lane();
  const seen: string[] = [];
  const work =
    (name: string, fails = '') =>
    async () => {
      seen.push(`${name} begins`);
      await turn();
      seen.push(`${name} ends`);
      if (fails !== '') throw new Error(fails);
      return name;
    };
  const all = await Promise.allSettled([
    lane.run(work('a')),
    lane.run(work('b', 'it fails')),
    lane.run(work('c')),
  ]);
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  expect(all.map((end) => end.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});
