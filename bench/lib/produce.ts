import { clockMs } from './clock.ts';
import type { Bench } from './scenario.ts';

/** Add tasks for a few seconds, `size` in one call, by `producers` at a time. Returns tasks per second. */
export async function produce(
  { quick }: Bench,
  { producers, size }: { readonly producers: number; readonly size: number },
  add: (numbers: readonly number[]) => Promise<unknown>,
): Promise<number> {
  const ms = quick ? 1000 : 4000;
  const began = clockMs();
  let added = 0;
  const one = async () => {
    while (clockMs() - began < ms) {
      const from = added;
      added += size;
      await add(Array.from({ length: size }, (_, index) => from + index));
    }
  };
  await Promise.all(Array.from({ length: producers }, one));
  return added / ((clockMs() - began) / 1000);
}
