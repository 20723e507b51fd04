/** A group with a rate of one slot an hour, in strict order. Tasks that have ended are gone. */
export interface World {
  /** Null: none, so that at most `burst` of its slots wait for a worker. */
  readonly limit: number | null;
  readonly burst: number;
  readonly isPaused: boolean;
  /** The hours up to which the rate is used up. */
  readonly used: number;
  /** In the order of their ids. */
  readonly tasks: readonly Task[];
}

export interface Task {
  readonly id: string;
  readonly state: 'waits' | 'has a slot' | 'runs';
  readonly hasStarted: boolean;
}

export type Settings = Pick<World, 'limit' | 'burst'>;

export const START: World = { limit: 2, burst: 2, isPaused: false, used: 0, tasks: [] };

export const inState = ({ tasks }: World, state: Task['state']): Task[] =>
  tasks.filter((task) => task.state === state);

export const enqueue = (world: World, id: string): World => ({
  ...world,
  tasks: [...world.tasks, { id, state: 'waits', hasStarted: false }],
});

/** A claim takes slots back and gives them out. The bursts here are below ten, which a group may get in a turn. */
export function attend(world: World): World {
  const { limit, burst, isPaused, tasks } = world;
  const isEndless = !isPaused && limit === null;
  const most = isPaused ? 0 : (limit ?? burst);
  const waiting = inState(world, 'waits');
  const slots = inState(world, 'has a slot');
  const held = slots.length + (isEndless ? 0 : inState(world, 'runs').length);
  const allowed = burst - world.used;

  const loose = slots.filter(({ hasStarted }) => isPaused || !hasStarted);
  const last = loose.at(-1);
  const next = waiting[Math.max(Math.min(most - held, allowed), 0)];
  const isSwapped = last && (held > most || (next && Number(next.id) < Number(last.id)));
  const taken = isSwapped ? loose : [];
  const unused = taken.filter(({ hasStarted }) => !hasStarted).length;

  const room = Math.max(most - held + taken.length, 0);
  const free = Math.min(room, allowed + unused, burst);
  const given = tasks.filter((task) => task.state === 'waits' || taken.includes(task)).slice(0, free);
  return {
    ...world,
    used: Math.max(world.used - unused, 0) + given.length,
    tasks: tasks.map((task) => {
      if (given.includes(task)) return { ...task, state: 'has a slot' };
      return taken.includes(task) ? { ...task, state: 'waits' } : task;
    }),
  };
}

/** A claim takes these tasks. */
export const claim = (world: World, ids: readonly string[]): World => ({
  ...world,
  tasks: world.tasks.map((task) =>
    ids.includes(task.id) ? { ...task, state: 'runs', hasStarted: true } : task,
  ),
});

/** The task has completed, and its row is gone. */
export const end = (world: World, id: string): World => ({
  ...world,
  tasks: world.tasks.filter((task) => task.id !== id),
});

/** It waits for a slot again: the start that it used up stays used up. */
export const giveBack = (world: World, id: string): World => ({
  ...world,
  tasks: world.tasks.map((task) => (task.id === id ? { ...task, state: 'waits' } : task)),
});

export const pass = (world: World, hours: number): World => ({
  ...world,
  used: Math.max(world.used - hours, 0),
});
