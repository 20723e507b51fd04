import {
  type Again,
  byTurn,
  type ENDS,
  GROUPS,
  type Group,
  hasSlot,
  isHeld,
  isLive,
  isWaiting,
  keepsOrder,
  mayStart,
  placeOf,
  type Settings,
  slotsOf,
  type Task,
  type Type,
  type World,
} from './world.ts';

export const OUTCOMES = [
  'completed',
  /** And runs again tomorrow. */
  'repeated',
  /** Due again at once. */
  'failed',
  /** Due again tomorrow. */
  'crashed',
  /** In two days. */
  'snoozed',
  /** And its group with it. */
  'stopping',
  'dead',
  'cancelled',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

export const DOORS = ['one', 'many', 'keyed', 'many keyed', 'replacing'] as const;
/** The way into the table: each has a function of its own. */
export type Door = (typeof DOORS)[number];

/** What an application may change by an `update` of its own, which asks for nothing. */
export type Editable = 'payload' | 'priority' | 'not_before';

/** A change that an operator asks for; `group`: the task moves to the queue of the other one. */
export type Change =
  | { readonly change: 'payload' | 'priority' | 'group' }
  | { readonly change: 'time'; readonly due: number };

export type Event =
  | {
      readonly verb: 'enqueue';
      readonly door: Door;
      readonly group: Group;
      readonly type: Type;
      readonly priority: number;
      readonly due: number;
      readonly expires: number | null;
    }
  | {
      readonly verb: 'replace';
      readonly id: number;
      readonly policy: 'replace' | 'preserve';
      readonly priority: number;
      readonly due: number;
    }
  /** By hand: another payload, the other priority, or a day later. */
  | { readonly verb: 'edit_row'; readonly id: number; readonly column: Editable }
  | ({ readonly verb: 'edit'; readonly id: number } & Change)
  /** Takes all there is of these types; none: it only gives out slots. */
  | { readonly verb: 'claim'; readonly types: readonly Type[]; readonly ahead: boolean }
  | { readonly verb: 'settle'; readonly id: number; readonly outcome: Outcome }
  /** `last`: once too often. */
  | { readonly verb: 'give_back' | 'rescue'; readonly id: number; readonly last: boolean }
  | { readonly verb: 'cancel' | 'add_dead' | 'retry' | 'discard' | 'outlive'; readonly id: number }
  | { readonly verb: 'revive'; readonly id: number; readonly due: number }
  | { readonly verb: 'set_group'; readonly group: Group; readonly limit: number | null }
  | { readonly verb: 'pause_group' | 'resume_group'; readonly group: Group }
  | { readonly verb: 'set_queue'; readonly settings: Settings }
  /** `day`: time passes. */
  | { readonly verb: 'expire' | 'day' };

/** The answer is what the SQL function says. */
export interface Stepped {
  readonly world: World;
  readonly answer: string;
}

export type Step = (world: World, event: Event) => Stepped;

/** The protocol of groups, as if each claim looked at all of them: an ask that is left out makes a difference. */
export const step: Step = (world, event) => {
  switch (event.verb) {
    case 'enqueue':
      return enqueue(world, event);
    case 'replace':
      return replace(world, event);
    case 'edit_row':
      return unanswered(editedRow(world, taskOf(world, event.id), event.column));
    case 'edit':
      return edit(world, taskOf(world, event.id), event);
    case 'claim':
      return claim(world, event);
    case 'settle':
      return settle(world, taskOf(world, event.id), event.outcome);
    case 'give_back': {
      const task = { ...taskOf(world, event.id) };
      const given = { ...task, started: task.started || task.state === 'running' };
      return { world: putBack(world, given, event.last), answer: `${event.id} recorded` };
    }
    case 'rescue': {
      const task = taskOf(world, event.id);
      const fate = task.cancelRequested ? 'cancelled' : event.last ? 'dead' : 'pending';
      return { world: putBack(world, task, event.last), answer: `${event.id} ${fate}` };
    }
    case 'cancel': {
      const task = taskOf(world, event.id);
      return isHeld(task)
        ? { world: changed(world, { ...task, cancelRequested: true }), answer: `${event.id} requested` }
        : { world: ended(world, task, 'cancelled'), answer: `${event.id} cancelled` };
    }
    case 'add_dead':
      return { world: ended(world, taskOf(world, event.id), 'dead'), answer: 'dead' };
    case 'retry':
      return retry(world, taskOf(world, event.id));
    case 'discard':
    case 'outlive': {
      const tasks = world.tasks.filter(({ id }) => id !== event.id);
      return { world: { ...world, tasks }, answer: event.verb === 'discard' ? `${event.id} discarded` : '1' };
    }
    case 'revive':
      return revive(world, taskOf(world, event.id), event.due);
    case 'set_group':
      return unanswered(ruled(world, event.group, { limit: event.limit }));
    case 'pause_group':
      return unanswered(ruled(world, event.group, { paused: true }));
    case 'resume_group':
      return unanswered(ruled(world, event.group, { paused: false }));
    case 'set_queue':
      // It takes effect a claim later; the driver makes two.
      return unanswered(attended({ ...world, settings: event.settings }));
    case 'expire': {
      const late = world.tasks.filter((task) => isWaiting(task) && !mayStart(task));
      return {
        world: late.reduce((before, task) => ended(before, task, 'expired'), world),
        answer: `${late.length}`,
      };
    }
    case 'day':
      return unanswered({ ...world, tasks: world.tasks.map(dayLater) });
    default:
      return event satisfies never;
  }
};

const unanswered = (world: World): Stepped => ({ world, answer: '' });

export const taskOf = ({ tasks }: World, id: number): Task => tasks.find((task) => task.id === id)!;

function changed(world: World, task: Task): World {
  return { ...world, tasks: world.tasks.map((one) => (one.id === task.id ? task : one)) };
}

function ruled(world: World, group: Group, change: Partial<World['rulings'][Group]>): World {
  return { ...world, rulings: { ...world.rulings, [group]: { ...world.rulings[group], ...change } } };
}

const FRESH = {
  ...{ state: 'waiting' as const, started: false, cancelRequested: false, again: null, superseded: false },
};

function enqueue(world: World, event: Event & { verb: 'enqueue' }): Stepped {
  const { group, type, priority, due, expires, door } = event;
  const { nextId: id, nextPayload: payload } = world;
  const gate = due > 0 ? 'd' : 'w';
  const key = door === 'one' || door === 'many' ? null : id;
  const task: Task = { ...FRESH, id, group, type, priority, gate, due, expires, key, payload };
  const tasks = [...world.tasks, task];
  return { world: { ...world, tasks, nextId: id + 1, nextPayload: payload + 1 }, answer: `${id} created` };
}

function replace(world: World, event: Event & { verb: 'replace' }): Stepped {
  const task = taskOf(world, event.id);
  const { priority, policy } = event;
  const { nextId, nextPayload: payload } = world;
  // One that has expired has no time to keep.
  const keepsTime = policy === 'preserve' && (isHeld(task) || mayStart(task));
  const after = { ...world, nextPayload: payload + 1 };
  if (!isHeld(task)) {
    const again: Again = { id: nextId, priority, due: event.due, payload, keepsTime };
    return { world: changed(after, replaced(task, again)), answer: `${event.id} replaced` };
  }
  const kept = keepsTime ? task.again : null;
  const again: Again = {
    ...{ id: task.again?.id ?? nextId, priority, payload },
    ...{ due: kept?.due ?? event.due, keepsTime: keepsTime && (task.again?.keepsTime ?? true) },
  };
  return {
    world: { ...changed(after, { ...task, again }), nextId: Math.max(nextId, again.id + 1) },
    answer: `${event.id} again ${again.id}`,
  };
}

/** A task that waits, or waits again, gives up its slot for the one that comes instead. */
function replaced(task: Task, again: Again): Task {
  const due = again.keepsTime ? task.due : again.due;
  const { priority, payload } = again;
  return { ...task, ...FRESH, priority, payload, due, gate: due > 0 ? 'd' : 'w', expires: null };
}

function edit(world: World, task: Task, event: Change): Stepped {
  const answer = `${task.id} edited`;
  const waiting: Task = { ...task, gate: task.due > 0 && task.gate === 'd' ? 'd' : 'w' };
  switch (event.change) {
    case 'payload':
    case 'priority':
      return { world: editedRow(world, hasSlot(task) ? task : waiting, event.change), answer };
    case 'group': {
      const group = task.group === 'a' ? 'b' : 'a';
      if (isKeyHeld(world, task, group)) return { world, answer: `${task.id} key_held` };
      const gate = task.due > 0 ? 'd' : 'w';
      return { world: changed(world, { ...task, gate, group }), answer };
    }
    case 'time': {
      const { due } = event;
      if (task.expires !== null && !task.started && task.expires <= due)
        return { world, answer: `${task.id} refused` };
      // One that has started keeps its slot, as for a retry.
      const keepsSlot = hasSlot(task) && (task.started || due === 0);
      const gate = keepsSlot ? task.gate : due > 0 ? 'd' : 'w';
      return { world: changed(world, { ...task, due, gate }), answer };
    }
    default:
      return event satisfies never;
  }
}

function editedRow(world: World, task: Task, column: Editable): World {
  switch (column) {
    case 'payload': {
      const { nextPayload: payload } = world;
      return { ...changed(world, { ...task, payload }), nextPayload: payload + 1 };
    }
    case 'priority':
      return changed(world, { ...task, priority: 3 - task.priority });
    case 'not_before':
      return changed(world, { ...task, due: task.due + 1 });
    default:
      return column satisfies never;
  }
}

function claim(world: World, { types, ahead }: Event & { verb: 'claim' }): Stepped {
  const after = attended(world);
  const taken = after.tasks.filter(
    (task) =>
      hasSlot(task) && isWaiting(task) && task.due === 0 && mayStart(task) && types.includes(task.type),
  );
  const tasks = after.tasks.map((task): Task => {
    if (!taken.includes(task)) return task;
    return { ...task, state: ahead ? 'leased' : 'running', started: task.started || !ahead };
  });
  return { world: { ...after, tasks }, answer: taken.map(({ id }) => id).join(', ') };
}

/** All groups are looked at: tasks whose time has come wait for a slot, and free slots are given out. */
export function attended(world: World): World {
  return GROUPS.reduce(filled, { ...world, tasks: world.tasks.map(woken) });
}

const woken = (task: Task): Task =>
  task.gate === 'd' && task.due === 0 && isWaiting(task) ? { ...task, gate: 'w' } : task;

function filled(world: World, group: Group): World {
  const { settings } = world;
  const slots = slotsOf(world, group);
  const keeps = keepsOrder(world, group);
  const its = world.tasks.filter((task) => task.group === group);
  const held = its.filter(hasSlot).length;
  const loose = its.filter((task) =>
    isLoose(task, Number.isFinite(slots) && held > slots ? 0 : slots, settings),
  );
  const free = Math.max(slots - held + loose.length, 0);
  const waiting = [...loose.map((task) => withoutSlot(task, keeps)), ...its]
    .filter((task) => task.gate === 'w' && mayStart(task))
    .sort(byTurn);
  // Where the order is not kept, one before its time is passed, and waits for that.
  const first = waiting.filter((task) => keeps || task.due === 0).slice(0, free);
  const isPassed = (task: Task) => first.length < free || byTurn(task, first.at(-1)!) < 0;
  const early = keeps || free === 0 ? [] : waiting.filter((task) => task.due > 0 && isPassed(task));
  const tasks = world.tasks.map((task): Task => {
    if (first.some(({ id }) => id === task.id)) return { ...task, gate: 'h' };
    if (early.some(({ id }) => id === task.id)) return { ...task, gate: 'd' };
    return loose.includes(task) ? withoutSlot(task, keeps) : task;
  });
  return { ...world, tasks };
}

/** Where the order is kept, one that waits for a retry keeps its turn: it waits for a slot at once, and waits on there. */
function withoutSlot(task: Task, keeps: boolean): Task {
  return { ...task, gate: task.due > 0 && !(task.started && keeps) ? 'd' : 'w' };
}

/**
 * A more urgent task takes its slot: no worker has claimed it, and it has not started, the group is stopped or has more
 * slots than it may have (`slots` is 0), or it waits for a retry although the order is relaxed.
 */
function isLoose(task: Task, slots: number, { order }: Settings): boolean {
  if (!Number.isFinite(slots) || !hasSlot(task) || !isWaiting(task)) return false;
  // The one that stopped the group until now.
  if (task.gate === 's') return slots === 0 && task.due === 0;
  return !task.started || slots === 0 || (task.due > 0 && order === 'relaxed');
}

function settle(world: World, task: Task, outcome: Outcome): Stepped {
  const answer = (fate: string) => `${task.id} recorded${fate}`;
  if (outcome === 'completed') return { world: ended(world, task, 'completed'), answer: answer('') };
  if (outcome === 'repeated') {
    const noted = repeated(world, task);
    return { world: ended(noted, taskOf(noted, task.id), 'completed'), answer: answer('') };
  }
  if (outcome === 'dead') {
    return { world: ended(world, { ...task, started: true }, 'dead'), answer: answer(' dead') };
  }
  if (outcome === 'cancelled' || task.cancelRequested) {
    return { world: ended(world, task, 'cancelled'), answer: answer(' cancelled') };
  }
  const due = { failed: 0, crashed: 1, snoozed: 2, stopping: 2 }[outcome];
  const waiting: Task = { ...task, state: 'waiting', due, started: true };
  const kept: Task = { ...waiting, gate: outcome === 'stopping' ? 's' : 'h' };
  const freed = outcome !== 'stopping' && world.settings.order === 'relaxed';
  const after = task.again
    ? replaced(waiting, task.again)
    : freed
      ? { ...waiting, gate: 'd' as const }
      : kept;
  return { world: changed(world, after), answer: answer(' pending') };
}

/** The copy that its handler asks for, unless a producer has replaced it. */
function repeated(world: World, task: Task): World {
  if (task.again || task.cancelRequested) return world;
  const { priority, payload } = task;
  const again: Again = { id: world.nextId, priority, due: 1, payload, keepsTime: false };
  return { ...changed(world, { ...task, again }), nextId: world.nextId + 1 };
}

function putBack(world: World, task: Task, last: boolean): World {
  if (task.cancelRequested) return ended(world, task, 'cancelled');
  if (last) return ended(world, task, 'dead');
  const waiting: Task = { ...task, state: 'waiting', due: 0 };
  return changed(world, task.again ? replaced(waiting, task.again) : waiting);
}

/** The task that was to replace it waits from now on. */
function ended(world: World, task: Task, state: (typeof ENDS)[number]): World {
  const { again } = task;
  const superseded = state === 'dead' && again !== null;
  const after = changed(world, {
    ...task,
    ...{ state, gate: null, due: 0, expires: null, cancelRequested: false, again: null, superseded },
  });
  if (again === null) return after;
  const { id, priority, due, payload } = again;
  const { group, type, key } = task;
  const gate = due > 0 ? 'd' : 'w';
  const next: Task = { ...FRESH, id, group, type, priority, gate, due, expires: null, key, payload };
  return { ...after, tasks: [...after.tasks, next].sort((a, b) => a.id - b.id) };
}

function retry(world: World, task: Task): Stepped {
  const waits = task.gate === 'd' || task.due > 0;
  const gate = task.gate === 'd' ? 'w' : task.gate;
  return {
    world: waits ? changed(world, { ...task, gate, due: 0 }) : world,
    answer: `${task.id} ${waits ? 'retried' : 'due'}`,
  };
}

/** Whether another live task has the key of this one in the queue of the group. */
function isKeyHeld(world: World, { id, key }: Task, group: Group): boolean {
  const queueOf = (of: Group) => placeOf(world, of).queue;
  return (
    key !== null &&
    world.tasks.some(
      (one) => one.id !== id && isLive(one) && one.key === key && queueOf(one.group) === queueOf(group),
    )
  );
}

function revive(world: World, task: Task, due: number): Stepped {
  if (isKeyHeld(world, task, task.group)) return { world, answer: `${task.id} key_held` };
  const gate = due > 0 ? 'd' : 'w';
  const revived: Task = { ...task, state: 'waiting', gate, due, started: false, superseded: false };
  return { world: changed(world, revived), answer: `${task.id} revived` };
}

function dayLater(task: Task): Task {
  const earlier = (days: number) => Math.max(days - 1, 0);
  return {
    ...task,
    due: earlier(task.due),
    expires: task.expires === null ? null : earlier(task.expires),
    again: task.again && { ...task.again, due: earlier(task.again.due) },
  };
}
