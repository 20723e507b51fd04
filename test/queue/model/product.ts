import type { Graph, Need } from './explore.ts';
import { isLive } from './task.ts';

/**
 * Counts the states of two tasks and two workers that can be reached, given the states of each task alone: every
 * combination of what two graphs and the silence of the workers allow, walked one move at a time. (A rescue or a
 * sweep that takes both tasks is two moves.) Returns also whether ever both tasks were live.
 */
export function countWorlds(
  first: Graph,
  second: Graph,
  sharedKey: boolean,
): { worlds: number; bothLive: boolean } {
  const size = second.tasks.length;
  const seen = new Uint8Array(first.tasks.length * size * SILENCES);
  const queue = [0];
  seen[0] = 1;
  const live = [first, second].map((graph) => graph.tasks.map(isLive));
  const moves = [first, second].map((graph) => graph.moves.map((move) => [...move]));
  let bothLive = false;
  let worlds = 0;
  const reach = (a: number, b: number, silence: number) => {
    const world = (a * size + b) * SILENCES + silence;
    if (seen[world]) return;
    seen[world] = 1;
    queue.push(world);
  };
  for (let world = queue.pop(); world !== undefined; world = queue.pop()) {
    worlds++;
    const silence = world % SILENCES;
    const b = Math.floor(world / SILENCES) % size;
    const a = Math.floor(world / SILENCES / size);
    bothLive ||= live[0]![a]! && live[1]![b]!;
    for (const worker of [1, 2]) reach(a, b, silence ^ worker);
    for (const [to, need] of moves[0]![a]!) {
      if (isMet(need, silence, !sharedKey || !live[1]![b]!)) reach(to, b, silence);
    }
    for (const [to, need] of moves[1]![b]!) {
      if (isMet(need, silence, !sharedKey || !live[0]![a]!)) reach(a, to, silence);
    }
  }
  return { worlds, bothLive };
}

/** One bit per worker. */
const SILENCES = 4;

function isMet(need: Need, silence: number, keyFree: boolean): boolean {
  if (need === 'nothing') return true;
  return need === 'key free' ? keyFree : (silence & need) !== 0;
}
