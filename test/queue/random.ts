export interface Random {
  /** From 0 to 1. */
  next(): number;
  /** A whole number from 0 to below `end`. */
  below(end: number): number;
  pick<T>(from: readonly T[]): T;
  /** So many of them at most, each once, in any order. */
  some<T>(from: readonly T[], count: number): T[];
}

/** Random numbers that are the same for the same seed (mulberry32). */
export function randomOf(seed: number): Random {
  let state = seed;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (end: number) => Math.floor(next() * end);
  return {
    next,
    below,
    pick: (from) => from[below(from.length)]!,
    some: (from, count) =>
      Array.from({ length: Math.min(count, from.length) }, () => from[below(from.length)]!).filter(
        (item, place, all) => all.indexOf(item) === place,
      ),
  };
}
