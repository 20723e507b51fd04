import { expect, test } from 'vitest';
import { prefetchOne } from '../../src/lib/prefetch-one.ts';

test('asks for the next item while the one before is worked on, and for no more', async () => {
  const said: string[] = [];
  async function* counted() {
    for (let n = 1; n <= 3; n++) {
      said.push(`made ${n}`);
      yield n;
    }
  }
  for await (const n of prefetchOne(counted())) {
    await new Promise((resolve) => setImmediate(resolve));
    said.push(`done ${n}`);
  }
  expect(said).toEqual(['made 1', 'made 2', 'done 1', 'made 3', 'done 2', 'done 3']);
});

test('a fault comes after the items before it', async () => {
  async function* faulty() {
    yield 1;
    throw new Error('no second one');
  }
  const read: number[] = [];
  const reading = async () => {
    for await (const n of prefetchOne(faulty())) read.push(n);
  };
  await expect(reading()).rejects.toThrow('no second one');
  expect(read).toEqual([1]);
});

test('whoever reads no further lets the source clean up', async () => {
  let isCleanedUp = false;
  async function* careful() {
    try {
      yield 1;
      yield 2;
    } finally {
      isCleanedUp = true;
    }
  }
  for await (const _ of prefetchOne(careful())) break;
  expect(isCleanedUp).toBe(true);
});
