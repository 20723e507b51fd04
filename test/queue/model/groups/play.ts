import type { Played } from '../database.ts';
import { randomSequence } from './events.ts';
import { type Event, type Outcome, step, taskOf } from './step.ts';
import { placeOf, type Task, type World } from './world.ts';

/** Plays a sequence of events that is drawn at random. */
export function playAtRandom(root: World, random: () => number): Played[] {
  return playsOf(
    root,
    randomSequence(root, random, (before, event) => step(before, event).world),
  );
}

/** Plays events from a beginning. */
export function playsOf(root: World, events: readonly Event[]): Played[] {
  let world = root;
  return events.map((event) => {
    const call = { ...callOf(world, event), next: world.nextId };
    const { answer, world: after } = step(world, event);
    world = after;
    return {
      call,
      expected: [answer, lookOf(after)].filter((text, n) => n === 0 || text !== '').join(' => '),
    };
  });
}

/** What `model.look` must say of this world. */
export const lookOf = (world: World): string => world.tasks.map((task) => rowOf(world, task)).join(' / ');

function rowOf(world: World, task: Task): string {
  const { id, state, gate, priority, payload, due, started, cancelRequested, again } = task;
  if (gate === null) return [id, state, ...(task.superseded ? ['superseded'] : [])].join(' ');
  const flags = [
    due > 0 && `in${due}`,
    started && 'started',
    cancelRequested && 'cancel',
    again && `again ${again.id} p${again.priority} n${again.payload}`,
    again && again.due > 0 && `in${again.due}`,
    again?.keepsTime && 'keeps',
  ];
  const place = placeOf(world, task.group);
  return [
    id,
    `${place.queue}.${place.group}`,
    state,
    gate,
    `p${priority}`,
    `n${payload}`,
    ...flags.filter(Boolean),
  ].join(' ');
}

const DAY_MS = 86_400_000;

function callOf(world: World, event: Event): object {
  switch (event.verb) {
    case 'enqueue': {
      const { group, type, priority, due, expires, door } = event;
      const options = {
        ...placeOf(world, group),
        ...{ priority, max_attempts: 1000, delay_ms: due * DAY_MS },
        ...(expires !== null && { expires_ms: (expires - due) * DAY_MS }),
        ...(door !== 'one' && door !== 'many' && { key: `${world.nextId}` }),
        ...(door === 'replacing' && { on_held: 'replace' }),
      };
      const many = door === 'many' || door === 'many keyed' ? { many: true } : {};
      return { verb: 'enqueue', task: { type, payload: world.nextPayload }, options, ...many };
    }
    case 'replace': {
      const { key, group, type } = world.tasks.find(({ id }) => id === event.id)!;
      const { priority, policy } = event;
      const place = placeOf(world, group);
      const options = { ...place, priority, max_attempts: 1000, key: `${key}`, on_held: policy };
      const task = { type, payload: world.nextPayload };
      return { verb: 'enqueue', task, options: { ...options, delay_ms: event.due * DAY_MS } };
    }
    case 'edit_row':
      return { ...event, payload: world.nextPayload };
    case 'edit':
      return { verb: 'edit', id: event.id, changes: changesOf(world, event) };
    case 'settle':
      return { verb: 'settle', id: event.id, outcome: JSON_OF[event.outcome] };
    case 'revive':
      return { verb: 'revive', id: event.id, options: { delay_ms: event.due * DAY_MS } };
    case 'set_group':
      return { verb: 'set_group', ...placeOf(world, event.group), options: { limit: event.limit } };
    case 'pause_group':
    case 'resume_group':
      return { verb: event.verb, ...placeOf(world, event.group) };
    case 'set_queue': {
      const { limit, order, onDead } = event.settings;
      return { verb: 'set_queue', options: settingsOf({ limit, order, onDead }) };
    }
    default:
      return event;
  }
}

/** As `taskq.edit` takes them. */
function changesOf(world: World, event: Event & { verb: 'edit' }): object {
  const { priority, group } = taskOf(world, event.id);
  switch (event.change) {
    case 'payload':
      return { payload: world.nextPayload };
    case 'priority':
      return { priority: 3 - priority };
    case 'time':
      return { delay_ms: event.due * DAY_MS };
    case 'group':
      return { queue: placeOf(world, group === 'a' ? 'b' : 'a').queue };
    default:
      return event satisfies never;
  }
}

/** As `taskq.set_queue` takes them. */
export function settingsOf({ limit, order, onDead }: World['settings']): object {
  return { group_limit: limit, group_order: order, group_on_dead: onDead };
}

const JSON_OF: Readonly<Record<Outcome, object>> = {
  completed: { outcome: 'completed', ran_ms: 5 },
  repeated: { outcome: 'completed', ran_ms: 5, again: { delay_ms: DAY_MS } },
  failed: { outcome: 'failed', ran_ms: 5, error: {}, delay_ms: 0 },
  crashed: { outcome: 'failed', ran_ms: 5, error: {}, delay_ms: DAY_MS },
  snoozed: { outcome: 'snoozed', ran_ms: 5, delay_ms: 2 * DAY_MS },
  stopping: { outcome: 'snoozed', ran_ms: 5, delay_ms: 2 * DAY_MS, hold: 'group' },
  dead: { outcome: 'dead', ran_ms: 5, error: {}, reason: 'gave_up' },
  cancelled: { outcome: 'cancelled', ran_ms: 5, reason: 'no need' },
};
