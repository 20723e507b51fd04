import { byKind, drawByWeight, sequenceOf } from '../draw.ts';
import { type Change, DOORS, type Event, OUTCOMES } from './step.ts';
import { GROUPS, hasSlot, isHeld, isLive, isWaiting, mayStart, type Task, type World } from './world.ts';

/** The live tasks of a world, not counting those that replace others. */
const TASKS = 5;

/** Everything that can happen next. */
export function eventsOf(world: World): Event[] {
  const { tasks, settings, rulings } = world;
  const events: Event[] = tasks.flatMap((task) => eventsOfTask(task));
  events.push(...tasks.flatMap((task) => editsOf(task, world)));
  events.push(...tasks.flatMap((task) => rowEditsOf(task, tasks)));
  if (tasks.filter(isLive).length < TASKS) events.push(...ENQUEUES);
  for (const types of [[], ['one'], ['two'], ['one', 'two']] as const) {
    for (const ahead of types.length > 0 ? [false, true] : [false])
      events.push({ verb: 'claim', types, ahead });
  }
  for (const group of GROUPS) {
    for (const limit of [1, 2, null]) {
      if (limit !== rulings[group].limit) events.push({ verb: 'set_group', group, limit });
    }
    events.push({ verb: rulings[group].paused ? 'resume_group' : 'pause_group', group });
  }
  for (const limit of [1, 2, null]) {
    if (limit !== settings.limit) events.push({ verb: 'set_queue', settings: { ...settings, limit } });
  }
  const order = settings.order === 'strict' ? 'relaxed' : 'strict';
  const onDead = settings.onDead === 'hold' ? 'go-on' : 'hold';
  events.push({ verb: 'set_queue', settings: { ...settings, order } });
  events.push({ verb: 'set_queue', settings: { ...settings, onDead } });
  if (tasks.some((task) => isWaiting(task) && !mayStart(task))) events.push({ verb: 'expire' });
  if (tasks.some(passesTime)) events.push({ verb: 'day' });
  return events;
}

const ENQUEUES: readonly Event[] = DOORS.flatMap((door) =>
  GROUPS.flatMap((group) =>
    (['one', 'two'] as const).flatMap((type) =>
      [1, 2].flatMap((priority) =>
        [0, 1].flatMap((due) =>
          [null, due + 1].map(
            (expires) => ({ verb: 'enqueue', door, group, type, priority, due, expires }) as const,
          ),
        ),
      ),
    ),
  ),
);

function eventsOfTask(task: Task): Event[] {
  const { id, state } = task;
  if (state === 'dead') {
    return [
      { verb: 'revive', id, due: 0 },
      { verb: 'revive', id, due: 1 },
      { verb: 'discard', id },
      { verb: 'outlive', id },
    ];
  }
  if (!isLive(task)) return [];
  const events: Event[] = [{ verb: 'cancel', id }];
  if (task.key !== null) {
    for (const policy of ['replace', 'preserve'] as const) {
      for (const due of [0, 1]) {
        for (const priority of [1, 2]) events.push({ verb: 'replace', id, policy, priority, due });
      }
    }
  }
  if (!isHeld(task)) return [...events, { verb: 'add_dead', id }, { verb: 'retry', id }];
  for (const outcome of OUTCOMES) {
    // A copy that may expire keeps its time to live, which is not a number of days.
    if (outcome !== 'repeated' || task.expires === null) events.push({ verb: 'settle', id, outcome });
  }
  for (const last of state === 'running' ? [false, true] : [false]) {
    events.push({ verb: 'give_back', id, last }, { verb: 'rescue', id, last });
  }
  return events;
}

/** What an operator may change. */
function editsOf(task: Task, { isApart }: World): Event[] {
  if (!isLive(task) || isHeld(task)) return [];
  const changes: Change[] = [
    { change: 'payload' },
    { change: 'priority' },
    { change: 'time', due: 0 },
    { change: 'time', due: 1 },
  ];
  if (isApart) changes.push({ change: 'group' });
  return changes.map((change) => ({ verb: 'edit', id: task.id, ...change }));
}

/**
 * Edits by hand that take effect without an ask. A priority may take a slot from another task, and a time that comes earlier
 * starts one: for these nobody looks, as an `update` asks for nothing.
 */
function rowEditsOf(task: Task, tasks: readonly Task[]): Event[] {
  if (!isLive(task)) return [];
  const { id, group, gate, due } = task;
  const events: Event[] = [{ verb: 'edit_row', id, column: 'payload' }];
  if (gate === 'd' && due > 0) events.push({ verb: 'edit_row', id, column: 'not_before' });
  const isSlotLoose = tasks.some((one) => one.group === group && hasSlot(one) && isWaiting(one));
  if (!hasSlot(task) && !isSlotLoose) events.push({ verb: 'edit_row', id, column: 'priority' });
  return events;
}

const passesTime = ({ gate, due, expires, again }: Task) =>
  gate !== null && (due > 0 || (expires ?? 0) > 0 || (again?.due ?? 0) > 0);

/** A sequence of 15 to 40 events. */
export function randomSequence(
  root: World,
  random: () => number,
  step: (world: World, event: Event) => World,
): Event[] {
  return sequenceOf(root, [15, 40], random, (world) => drawEvent(world, random), step);
}

/** How often a kind of event is drawn, 1 by default. */
const WEIGHTS: Readonly<Partial<Record<Event['verb'], number>>> = {
  ...{
    enqueue: 6,
    claim: 8,
    settle: 6,
    replace: 3,
    cancel: 2,
    give_back: 2,
    rescue: 2,
    day: 3,
    revive: 2,
    edit: 3,
  },
};

function drawEvent(world: World, random: () => number): Event {
  const kinds = byKind(eventsOf(world), ({ verb }) => verb);
  return drawByWeight(kinds, (verb) => WEIGHTS[verb as Event['verb']] ?? 1, random);
}
