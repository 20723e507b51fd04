import { byKind, drawByWeight, sequenceOf } from '../draw.ts';
import { type Event, isLate, OUTCOMES } from './step.ts';
import { hasDied, hasEnded, isUnclaimed, type OnDeath, type Step, type World } from './world.ts';

/** The steps that a world may have, with those that are added. */
const STEPS = 7;
const ON_DEATH: readonly OnDeath[] = ['cancel', 'continue', 'wait'];

/** Everything that can happen next. */
export function eventsOf(world: World): Event[] {
  const { steps, isOpen, cancelRequested, flow } = world;
  const events: Event[] = steps.flatMap(eventsOfStep);
  events.push({ verb: 'claim' }, { verb: 'fill' });
  if (isOpen && steps.length < STEPS) events.push(...additionsOf(world), { verb: 'close' });
  if (world.hasAdders && steps.length < STEPS)
    for (const taken of [false, true]) events.push({ verb: 'add_late', step: `s${steps.length}`, taken });
  if (!cancelRequested && flow.live > 0) events.push({ verb: 'cancel_workflow' });
  if (cancelRequested || steps.some((step) => hasDied(step) || step.cancelRequested))
    events.push({ verb: 'retry_workflow' });
  if (steps.some(isLate)) events.push({ verb: 'expire' });
  if (flow.isLooking) events.push({ verb: 'look' });
  return events;
}

function eventsOfStep(step: Step): Event[] {
  const { name } = step;
  if (step.status === 'dead') return [{ verb: 'revive', step: name }];
  if (hasEnded(step)) return [];
  const events: Event[] = [{ verb: 'cancel', step: name }];
  if (step.expiry === 'ahead') events.push({ verb: 'overdue', step: name });
  if (isUnclaimed(step)) return [...events, { verb: 'add_dead', step: name }];
  for (const outcome of OUTCOMES) events.push({ verb: 'settle', step: name, outcome });
  for (const last of [false, true])
    events.push({ verb: 'give_back', step: name, last }, { verb: 'rescue', step: name, last });
  return events;
}

/** After nothing, one step, or one step and the first. */
function additionsOf({ steps }: World): Event[] {
  const step = `s${steps.length}`;
  const parents = steps.flatMap(({ name }) => [[name], ...(name === 'a' ? [] : [['a', name]])]);
  return [[], ...parents].flatMap((names) =>
    ON_DEATH.map(
      (onDeath): Event => ({
        verb: 'add',
        step,
        after: names.map((parent) => ({ parent, onDeath, isMet: false })),
      }),
    ),
  );
}

/** A sequence of 10 to 30 events. */
export function randomSequence(
  root: World,
  random: () => number,
  step: (world: World, event: Event) => World,
): Event[] {
  return sequenceOf(root, [10, 30], random, (world) => drawEvent(world, random), step);
}

/** How often a kind of event is drawn, 2 by default. */
const WEIGHTS: Readonly<Partial<Record<Event['verb'], number>>> = {
  ...{ claim: 8, fill: 4, settle: 10, add: 5, add_late: 4, cancel: 3, revive: 4, look: 4 },
  ...{ cancel_workflow: 1, close: 1, retry_workflow: 2 },
};

function drawEvent(world: World, random: () => number): Event {
  const kinds = byKind(eventsOf(world), ({ verb }) => verb);
  return drawByWeight(kinds, (verb) => WEIGHTS[verb as Event['verb']] ?? 2, random);
}
