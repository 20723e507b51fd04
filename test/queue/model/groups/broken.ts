import { type Event, type Step, step } from './step.ts';
import { hasSlot, isHeld, isLive, isWaiting, type Task, type World } from './world.ts';

/** A protocol with one mistake, and what it breaks: the beginning of what the invariant says. */
export interface Broken {
  readonly name: string;
  readonly breaks: string;
  readonly step: Step;
}

export const BROKEN: readonly Broken[] = [
  {
    name: 'slots that workers have are not counted',
    breaks: 'no more tasks have a slot than the limit',
    step: claiming((world) => {
      const hidden = world.tasks.filter(isHeld);
      return { seen: { ...world, tasks: world.tasks.filter((task) => !isHeld(task)) }, hidden };
    }),
  },
  {
    name: 'the last task comes first',
    breaks: 'tasks start for the first time in the order',
    step: (world, event) => {
      if (event.verb !== 'claim') return step(world, event);
      const turned = { ...world, tasks: world.tasks.map(turn) };
      const { world: after, answer } = step(turned, event);
      return { world: { ...after, tasks: after.tasks.map(turn) }, answer };
    },
  },
  {
    name: 'what ended is not looked for',
    breaks: 'a task that is due does not wait',
    step: (world, event) =>
      event.verb === 'claim' && world.tasks.some((task) => !isLive(task))
        ? { world, answer: '' }
        : step(world, event),
  },
  {
    name: 'a retry gives up its slot',
    breaks: 'under strict order, what waits for a retry',
    step: changing('settle', (task) => (isWaiting(task) && hasSlot(task) ? { ...task, gate: 'd' } : task)),
  },
  {
    name: 'a replaced task keeps its payload',
    breaks: 'of the tasks that replace a held one',
    step: changing('give_back', (task, before) => ({ ...task, payload: before.payload })),
  },
  {
    name: 'an enqueue gives out slots',
    breaks: 'a worker has a task only while it has a slot',
    step: changing('enqueue', (task, before) => (before === task ? { ...task, gate: 'h' } : task)),
  },
];

const turn = (task: Task): Task => ({ ...task, priority: -task.priority });

/** Claims see only some of the tasks. */
function claiming(look: (world: World) => { seen: World; hidden: readonly Task[] }): Step {
  return (world, event) => {
    if (event.verb !== 'claim') return step(world, event);
    const { seen, hidden } = look(world);
    const { world: after, answer } = step(seen, event);
    return { world: { ...after, tasks: [...after.tasks, ...hidden].sort((a, b) => a.id - b.id) }, answer };
  };
}

/** What a verb makes of each task is changed; `before` is the task itself where it is new. */
function changing(verb: Event['verb'], change: (task: Task, before: Task) => Task): Step {
  return (world, event) => {
    const { world: after, answer } = step(world, event);
    if (event.verb !== verb) return { world: after, answer };
    const tasks = after.tasks.map((task) =>
      change(task, world.tasks.find(({ id }) => id === task.id) ?? task),
    );
    return { world: { ...after, tasks }, answer };
  };
}
