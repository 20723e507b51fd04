export const GROUPS = ['a', 'b'] as const;
export type Group = (typeof GROUPS)[number];

export type Type = 'one' | 'two';

/** What replaces a held task, once it has ended or waits again. */
export interface Again {
  readonly id: number;
  readonly priority: number;
  readonly due: number;
  readonly payload: number;
  /** No producer has set a time: a task that waits again keeps its own. */
  readonly keepsTime: boolean;
}

export const ENDS = ['completed', 'cancelled', 'expired', 'dead'] as const;

/** A task of a group, as its row says it. */
export interface Task {
  readonly id: number;
  readonly group: Group;
  readonly type: Type;
  readonly priority: number;
  readonly state: 'waiting' | 'leased' | 'running' | (typeof ENDS)[number];
  /** `d` waits for its time, `w` for a slot; `h` has one, and `s` has one and stops its group. Null: it has ended. */
  readonly gate: 'd' | 'w' | 'h' | 's' | null;
  /** It waits for this many days. */
  readonly due: number;
  /** It expires in this many days, unless it has started; null: never. */
  readonly expires: number | null;
  readonly started: boolean;
  readonly cancelRequested: boolean;
  /** The id of the first task with its key; null: it has no key. */
  readonly key: number | null;
  readonly payload: number;
  readonly again: Again | null;
  /** Of a dead letter: a newer task came instead, and it stops no group. */
  readonly superseded: boolean;
}

export interface Settings {
  readonly limit: number | null;
  readonly order: 'strict' | 'relaxed';
  readonly onDead: 'go-on' | 'hold';
}

/** What operators have said of one group. */
export interface Ruling {
  readonly limit: number | null;
  readonly paused: boolean;
}

/** The tasks of two groups, which one worker claims. */
export interface World {
  /** The groups are in two queues, where they have one name, and tasks move from one to the other. */
  readonly isApart: boolean;
  readonly tasks: readonly Task[];
  readonly settings: Settings;
  readonly rulings: Readonly<Record<Group, Ruling>>;
  readonly nextId: number;
  readonly nextPayload: number;
}

export interface Beginning {
  readonly name: string;
  readonly world: World;
}

export const BEGINNINGS: readonly Beginning[] = [
  beginning('one at a time, in strict order', { limit: 1, order: 'strict', onDead: 'go-on' }),
  beginning('two at a time, in relaxed order, in two queues', {
    ...{ limit: 2, order: 'relaxed', onDead: 'go-on', isApart: true },
  }),
  beginning('two at a time, stopped by a dead letter, in two queues', {
    ...{ limit: 2, order: 'strict', onDead: 'hold', isApart: true },
  }),
];

function beginning(
  name: string,
  { isApart = false, ...settings }: Settings & { readonly isApart?: boolean },
): Beginning {
  const ruling = { limit: null, paused: false };
  return {
    name,
    world: { isApart, tasks: [], settings, rulings: { a: ruling, b: ruling }, nextId: 1, nextPayload: 1 },
  };
}

/** The queue and the name of a group. */
export function placeOf(
  { isApart }: World,
  group: Group,
): { readonly queue: string; readonly group: string } {
  return isApart ? { queue: group === 'a' ? 'default' : 'other', group: 'a' } : { queue: 'default', group };
}

export const isLive = ({ gate }: Task) => gate !== null;
export const isHeld = ({ state }: Task) => state === 'leased' || state === 'running';
export const isWaiting = ({ state }: Task) => state === 'waiting';
export const hasSlot = ({ gate }: Task) => gate === 'h' || gate === 's';

/** It has not expired. */
export const mayStart = ({ expires, started }: Task) => started || expires === null || expires > 0;

/** The order of a group. */
export const byTurn = (one: Task, other: Task) => one.priority - other.priority || one.id - other.id;

/** How many tasks of a group may have a slot now. */
export function slotsOf({ tasks, settings, rulings }: World, group: Group): number {
  const its = tasks.filter((task) => task.group === group);
  const isStopped =
    rulings[group].paused ||
    (settings.onDead === 'hold' && its.some(({ state, superseded }) => state === 'dead' && !superseded)) ||
    its.some((task) => task.gate === 's' && isWaiting(task) && task.due > 0);
  return isStopped ? 0 : (rulings[group].limit ?? settings.limit ?? Number.POSITIVE_INFINITY);
}

/** Whether a group has a limit and keeps its order, also while it is stopped. */
export function keepsOrder({ settings, rulings }: World, group: Group): boolean {
  return settings.order === 'strict' && (rulings[group].limit ?? settings.limit) !== null;
}
