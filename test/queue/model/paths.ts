import { type Play, play } from './play.ts';
import { eventsOf, type World } from './world.ts';

/** An event, and all that may follow where it led to a state not seen before. */
export interface Branch extends Play {
  readonly next: readonly Branch[];
}

/**
 * Grows the tree of all sequences of at most `depth` events: breadth first, so that every state is continued from
 * the shortest way to it, and from there alone. What happens to one task and then to the other could as well have
 * happened the other way round: the first one goes first, unless the tasks share a key. Returns the branches of the
 * root, and how many there are in all.
 */
export function growTree(root: World, depth: number, leases: number): { branches: Branch[]; count: number } {
  const seen = new Set([JSON.stringify(root)]);
  const branches: Branch[] = [];
  let level: Tip[] = [{ world: root, next: branches, second: false }];
  let count = 0;
  for (let left = depth; left > 0; left--) {
    const tips: Tip[] = [];
    for (const { world, next, second } of level) {
      for (const event of eventsOf(world, leases)) {
        if (second && event.at === 0) continue;
        const after: Branch[] = [];
        const branch = { ...play(world, event), next: after };
        next.push(branch);
        count++;
        const tip = { world: branch.world, next: after, second: event.at === 1 && !root.sharedKey };
        const key = JSON.stringify(branch.world);
        if (seen.has(key) || (tip.second && seen.has(`${key} second`))) continue;
        seen.add(tip.second ? `${key} second` : key);
        tips.push(tip);
      }
    }
    level = tips;
  }
  return { branches, count };
}

/** Where the tree goes on growing; `second`: after something that happened to the second task alone. */
interface Tip {
  readonly world: World;
  readonly next: Branch[];
  readonly second: boolean;
}

/** One transaction's worth: what leads there, and what may follow. */
export interface Chunk {
  readonly way: readonly Branch[];
  readonly next: readonly Branch[];
}

/** Cuts a tree into subtrees of at most `size` branches where it can be cut. */
export function* chunksOf(
  next: readonly Branch[],
  size: number,
  way: readonly Branch[] = [],
): Iterable<Chunk> {
  if (countOf(next) <= size) return yield { way, next };
  yield { way, next: next.map((branch) => ({ ...branch, next: [] })) };
  for (const branch of next) {
    if (branch.next.length > 0) yield* chunksOf(branch.next, size, [...way, branch]);
  }
}

/** A chunk as a tree that begins at the root. */
export function rootedIn({ way, next }: Chunk): readonly Branch[] {
  return way.reduceRight((rest, branch) => [{ ...branch, next: rest }], next);
}

export const countOf = (branches: readonly Branch[]): number =>
  branches.reduce((sum, branch) => sum + 1 + countOf(branch.next), 0);

/** Depth first, as `model.walk` plays them. */
export function* inOrder(
  branches: readonly Branch[],
  way: readonly Branch[] = [],
): Iterable<readonly Branch[]> {
  for (const branch of branches) {
    const here = [...way, branch];
    yield here;
    yield* inOrder(branch.next, here);
  }
}
