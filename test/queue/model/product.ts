import type { Graph } from './explore.ts';
import { isLive } from './task.ts';

/**
 * Counts the states of two tasks and two workers that can be reached, given the states of each task alone: the pairs of
 * states, with every silence of the workers, who may fall silent and come back at any moment. Returns also whether ever
 * both tasks were live.
 */
export function countWorlds(
  first: Graph,
  second: Graph,
  sharedKey: boolean,
): { worlds: number; bothLive: boolean } {
  const { pairs, bothLive } = sharedKey ? walkPairs(first, second) : allPairs(first, second);
  return { worlds: pairs * SILENCES, bothLive };
}

/** Each of two workers is silent or not. */
const SILENCES = 4;

/** Without a shared key nothing that one task does depends on the other. */
function allPairs(first: Graph, second: Graph) {
  return {
    pairs: first.tasks.length * second.tasks.length,
    bothLive: first.tasks.some(isLive) && second.tasks.some(isLive),
  };
}

/** Every pair that two tasks with one key can reach, one move at a time. (A rescue or a sweep that takes both is two.) */
function walkPairs(first: Graph, second: Graph) {
  const size = second.tasks.length;
  const seen = new Uint8Array(first.tasks.length * size);
  const queue = [0];
  seen[0] = 1;
  const firstLives = first.tasks.map(isLive);
  const secondLives = second.tasks.map(isLive);
  let bothLive = false;
  let pairs = 0;
  const reach = (pair: number) => {
    if (seen[pair]) return;
    seen[pair] = 1;
    queue.push(pair);
  };
  for (let pair = queue.pop(); pair !== undefined; pair = queue.pop()) {
    pairs++;
    const b = pair % size;
    const a = (pair - b) / size;
    bothLive ||= firstLives[a]! && secondLives[b]!;
    for (const { to, needsKey } of first.moves[a]!) if (!needsKey || !secondLives[b]) reach(to * size + b);
    for (const { to, needsKey } of second.moves[b]!) if (!needsKey || !firstLives[a]) reach(a * size + to);
  }
  return { pairs, bothLive };
}
