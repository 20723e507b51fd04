import type { Stats, StatsPair } from './stats.ts';

/** How many tasks a queue or a type has, as of the last sample. */
export interface Depth {
  readonly waiting: number;
  readonly due: number;
  readonly running: number;
  readonly dead: number;
  /** Since when the oldest due task waits; null: none does. */
  readonly oldestAt: string | null;
}

const EMPTY: Depth = { waiting: 0, due: 0, running: 0, dead: 0, oldestAt: null };

/** The figures of a sample for each queue or type. */
export interface Depths {
  readonly names: Iterable<string>;
  /** Undefined: there is no sample yet. */
  of(name: string): Depth | undefined;
}

/** Sums up the pairs of a sample by their queues or their types. */
export function depthsBy(member: 'queue' | 'type', stats: Stats | null): Depths {
  const sums = new Map<string, Depth>();
  for (const pair of stats?.pairs ?? []) {
    const { [member]: name } = pair;
    sums.set(name, withPair(sums.get(name) ?? EMPTY, pair));
  }
  return {
    names: sums.keys(),
    of: (name) => (stats === null ? undefined : (sums.get(name) ?? EMPTY)),
  };
}

function withPair(sum: Depth, { counts, due, oldestAt }: StatsPair): Depth {
  const { blocked = 0, pending = 0, leased = 0, running = 0, dead = 0 } = counts;
  return {
    waiting: sum.waiting + blocked + pending,
    due: sum.due + due,
    running: sum.running + leased + running,
    dead: sum.dead + dead,
    oldestAt: earlier(sum.oldestAt, oldestAt),
  };
}

function earlier(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return Date.parse(one) <= Date.parse(other) ? one : other;
}
