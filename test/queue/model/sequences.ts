import { byKind, drawByWeight } from './draw.ts';
import { type Play, play } from './play.ts';
import { step } from './step.ts';
import { isLive } from './task.ts';
import { apply, type Event, eventsOf, type World } from './world.ts';

/** Numbers from 0 up to 1, the same for the same seed (mulberry32). */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Claims of one task: more than any sequence makes. */
const MANY = 99;

/** A sequence of 10 to 30 events. Whoever writes about a task writes also about every lease of the past. */
export function randomSequence(root: World, random: () => number): Play[] {
  const plays: Play[] = [];
  const length = 10 + Math.floor(random() * 21);
  for (let world = root; plays.length < length; world = plays.at(-1)!.world) {
    plays.push(play(world, drawEvent(world, random), 'companions'));
  }
  return plays;
}

/** Half of what ends a task and of what names an old lease is drawn again: sequences would be dull. */
function drawEvent(world: World, random: () => number): Event {
  const kinds = byKind(eventsOf(world, MANY), (event) =>
    event.at === 'worker' ? 'silence' : `${event.action.verb} ${event.at}`,
  );
  const event = drawByWeight(kinds, (kind) => WEIGHTS[kind.split(' ')[0]!] ?? 6, random);
  const ends = countLive(apply(world, event, step).world) < countLive(world);
  return (ends || isOld(world, event)) && random() < 0.5 ? drawEvent(world, random) : event;
}

/** How often a kind is drawn, 6 by default: what operators end is not taken to its limits. */
const WEIGHTS: Readonly<Record<string, number>> = {
  ...{ silence: 1, cancel: 3, add_dead: 1, revive: 1, discard: 1 },
  ...{ settle: 5, start: 2, expire: 2, fall_due: 2 },
};

function isOld({ tasks }: World, event: Event): boolean {
  if (event.at === 'worker' || event.at === 'both' || !('lease' in event.action)) return false;
  return event.action.lease !== tasks[event.at].leases.at(-1)?.no;
}

const countLive = ({ tasks }: World) => tasks.filter((task) => isLive(task) || task.status === 'dead').length;
