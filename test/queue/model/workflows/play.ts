import type { Played } from '../database.ts';
import { randomSequence } from './events.ts';
import { act, type Event } from './step.ts';
import { hasEnded, type Step, type World } from './world.ts';

/** Plays a sequence of events that is drawn at random. */
export function playAtRandom(root: World, random: () => number): Played[] {
  return playsOf(
    root,
    randomSequence(root, random, (before, event) => act(before, event).world),
  );
}

/** Plays events from a beginning. */
export function playsOf(root: World, events: readonly Event[]): Played[] {
  let world = root;
  return events.map((event) => {
    const { answer, world: after } = act(world, event);
    world = after;
    return { call: callOf(event), expected: `${answer} => ${lookOf(after)}` };
  });
}

/** What `model.look` must say of this world. */
export const lookOf = ({ steps }: World): string =>
  [...steps]
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .map(rowOf)
    .join(' / ');

function rowOf(step: Step): string {
  const { name, status, edges, cancelRequested, cancelledBy } = step;
  const unmet = edges.filter(({ isMet }) => !isMet).map(({ parent }) => parent);
  const flags = [
    status === 'waiting' && unmet.length > 0 && `${unmet.length}: ${unmet.sort().join()}`,
    !hasEnded(step) && cancelRequested && 'cancel',
    cancelledBy !== null && `by ${cancelledBy}`,
  ];
  return [name, status, ...flags.filter(Boolean)].join(' ');
}

function callOf(event: Event): object {
  if (event.verb === 'settle') return { ...event, outcome: JSON_OF[event.outcome] };
  if (event.verb !== 'add') return event;
  const after = event.after.map(({ parent, onDeath }) => ({ step: parent, on_death: onDeath }));
  return { ...event, after };
}

const JSON_OF = {
  completed: { outcome: 'completed', ran_ms: 5 },
  failed: { outcome: 'failed', ran_ms: 5, error: {}, delay_ms: 0 },
  dead: { outcome: 'dead', ran_ms: 5, error: {}, reason: 'gave_up' },
  cancelled: { outcome: 'cancelled', ran_ms: 5, reason: 'no need' },
};

/** As `taskq.run_workflow` takes it. */
export function specOf({ steps, isOpen, failFast, maxDead }: World): object {
  return {
    ...{ name: 'a workflow', open: isOpen, fail_fast: failFast, max_dead: maxDead },
    ...{ on_end: { type: 'next' }, on_failing: { type: 'next' }, on_step: { type: 'look' } },
    steps: steps.map(({ name, edges, expiry }) => ({
      ...{ step: name, type: 'one', max_attempts: 1000 },
      after: edges.map(({ parent, onDeath }) => ({ step: parent, on_death: onDeath })),
      ...(expiry !== 'none' && { expires_ms: 86_400_000 }),
    })),
  };
}
