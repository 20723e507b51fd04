import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { SerialQueue } from '../../src/lib/serial-queue.ts';

test('one thing runs at a time, in order, whatever becomes of the one before', async () => {
  const queue = new SerialQueue();
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
    queue.run(work('a')),
    queue.run(work('b', 'it fails')),
    queue.run(work('c')),
  ]);
  expect(seen).toEqual(['a begins', 'a ends', 'b begins', 'b ends', 'c begins', 'c ends']);
  expect(all.map((end) => end.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});
