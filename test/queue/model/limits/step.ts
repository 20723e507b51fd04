/** A queue with its limits. A task that has ended, or waits for a retry, is in neither list. */
export interface World {
  readonly maxRunning: number | null;
  /** Of a rate of one start an hour. */
  readonly burst: number | null;
  /** The hours up to which the rate is used up. */
  readonly used: number;
  /** The most urgent first. */
  readonly waiting: readonly Task[];
  readonly held: readonly Task[];
}

export interface Task {
  readonly id: string;
  readonly priority: number;
}

export type Settings = Pick<World, 'maxRunning' | 'burst'>;

export const START: World = { maxRunning: null, burst: null, used: 0, waiting: [], held: [] };

export const isLimited = ({ maxRunning, burst }: Settings) => maxRunning !== null || burst !== null;

/** How many tasks a claim brings that has this many slots, and may claim this many ahead of them. */
export function claimable(world: World, { start, ahead }: { start: number; ahead: number }): number {
  if (!isLimited(world)) return Math.min(start + ahead, world.waiting.length);
  const room = (world.maxRunning ?? Infinity) - world.held.length;
  const starts = world.burst === null ? Infinity : Math.floor(world.burst - world.used);
  return Math.max(Math.min(start, room, starts, world.waiting.length), 0);
}

/** These tasks are claimed. */
export function claim(world: World, ids: readonly string[]): World {
  const isTaken = ({ id }: Task) => ids.includes(id);
  return {
    ...world,
    used: world.burst === null ? world.used : world.used + ids.length,
    waiting: world.waiting.filter((task) => !isTaken(task)),
    held: [...world.held, ...world.waiting.filter(isTaken)],
  };
}

export const enqueue = (world: World, task: Task): World => ({
  ...world,
  waiting: inOrder([...world.waiting, task]),
});

/** The outcome of a held task is recorded. */
export const end = (world: World, task: Task): World => ({ ...world, held: without(world.held, task) });

/** A held task waits again: a start that it used up stays used up. */
export const giveBack = (world: World, task: Task): World => enqueue(end(world, task), task);

export const pass = (world: World, hours: number): World => ({
  ...world,
  used: Math.max(world.used - hours, 0),
});

const without = (tasks: readonly Task[], { id }: Task) => tasks.filter((task) => task.id !== id);

const inOrder = (tasks: readonly Task[]) =>
  tasks.toSorted((a, b) => a.priority - b.priority || Number(a.id) - Number(b.id));
