import { type Action, OUTCOMES, type Outcome, type Step, type Surroundings } from './step.ts';
import { FRESH, isClaimable, isHeld, isLive, isLone, type Task, type Worker } from './task.ts';

/** Two tasks and two workers. */
export interface World {
  readonly tasks: readonly [Task, Task];
  /** Workers without a heartbeat for a whole lease: crashed, stopped, or cut off. A heartbeat brings one back. */
  readonly silent: readonly Worker[];
  /** Both tasks have the same unique key, so at most one of them is live. */
  readonly sharedKey: boolean;
}

/** What can happen to the world: to one task (0 or 1), to both at once (`both`), or to a worker. */
export type Event =
  | { readonly at: 0 | 1 | 'both'; readonly action: Action }
  | { readonly at: 'worker'; readonly worker: Worker };

export interface Beginning {
  readonly name: string;
  readonly world: World;
  /** Every sequence of this many events is played against the SQL functions. */
  readonly depth: number;
}

const RUNNING_AGAIN: Task = {
  ...FRESH,
  ...{
    status: 'running',
    leaseNo: 1,
    owner: 1,
    started: true,
    losses: 2,
    lostStarts: 2,
    releases: 9,
  },
  leases: [{ no: 1, worker: 1, ran: true, outcomes: 0 }],
};

/** A task near its limits reaches with three leases what takes a fresh one thirteen. */
export const BEGINNINGS: readonly Beginning[] = [
  { name: 'two fresh tasks', depth: 5, world: worldOf(FRESH, { ...FRESH, maxAttempts: 1 }) },
  {
    name: 'a task that may expire and one that wore out two workers',
    depth: 4,
    world: worldOf({ ...FRESH, expiry: 'ahead' }, RUNNING_AGAIN),
  },
  {
    name: 'a dead letter whose key a suspect has',
    depth: 5,
    world: {
      ...worldOf(
        { ...FRESH, status: 'dead', reason: 'by_hand' },
        { ...FRESH, losses: 1, lostStarts: 1, lostAhead: 2 },
      ),
      sharedKey: true,
    },
  },
];

function worldOf(first: Task, second: Task): World {
  return { tasks: [first, second], silent: [], sharedKey: false };
}

export function surroundingsOf(world: World, at: 0 | 1): Surroundings {
  return { silent: world.silent, keyHeld: world.sharedKey && isLive(world.tasks[1 - at]!) };
}

/** Applies an event by the given rules; one answer per task. */
export function apply(world: World, event: Event, step: Step): { world: World; answers: [string, string] } {
  const answers: [string, string] = ['', ''];
  if (event.at === 'worker') return { world: silence(world, event.worker), answers };
  const tasks: [Task, Task] = [...world.tasks];
  for (const at of event.at === 'both' ? takenOf(world, event.action) : [event.at]) {
    const action = event.at === 'both' ? ofBoth(event.action, at) : event.action;
    const stepped = step(world.tasks[at], action, surroundingsOf(world, at));
    tasks[at] = stepped.task;
    answers[at] = stepped.answer;
  }
  const beating =
    event.at !== 'both' && event.action.verb === 'heartbeat' ? speaker(world, event.at, event.action) : 0;
  return { world: { ...world, tasks, silent: world.silent.filter((worker) => worker !== beating) }, answers };
}

/** A claim that finds a task which is to come alone takes it alone. */
function takenOf({ tasks }: World, { verb }: Action): readonly (0 | 1)[] {
  const lone = verb === 'claim' ? ([0, 1] as const).find((at) => isLone(tasks[at])) : undefined;
  return lone === undefined ? [0, 1] : [lone];
}

/** Of two tasks in one claim the second is claimed ahead. */
function ofBoth(action: Action, at: 0 | 1): Action {
  return action.verb === 'claim' && at === 1 ? { ...action, ahead: true } : action;
}

/** Who does something about a lease. */
export function speaker({ tasks }: World, at: 0 | 1, action: Action & { readonly lease: number }): Worker {
  const { worker } = tasks[at].leases.find(({ no }) => no === action.lease)!;
  return 'by' in action ? otherThan(worker) : worker;
}

const otherThan = (worker: Worker): Worker => (worker === 1 ? 2 : 1);

function silence(world: World, worker: Worker): World {
  return { ...world, silent: [...world.silent, worker].sort() };
}

/** Everything that can happen next, with at most this many claims of a task. The workers are alike: the second one acts after the first. */
export function eventsOf(world: World, leases: number): Event[] {
  const events: Event[] = ([0, 1] as const).flatMap((at) =>
    actionsOf(world.tasks[at], leases, workersOf(world)).map((action) => ({ at, action })),
  );
  for (const worker of workersOf(world)) {
    if (!world.silent.includes(worker)) events.push({ at: 'worker', worker });
  }
  const { tasks } = world;
  if (tasks.some((task) => isHeld(task) && task.lapse > 0)) {
    for (const own of [0, ...workersOf(world)] as const)
      events.push({ at: 'both', action: { verb: 'rescue', own } });
  }
  if (tasks.some((task) => task.expiry !== 'none')) events.push({ at: 'both', action: { verb: 'expire' } });
  const claims = tasks.every((task) => isClaimable(task) && task.leases.length < leases);
  if (claims) events.push({ at: 'both', action: { verb: 'claim', worker: 1, ahead: false } });
  return events;
}

function workersOf({ tasks, silent }: World): readonly Worker[] {
  return silent.length > 0 || tasks.some((task) => task.leases.length > 0) ? [1, 2] : [1];
}

/** What a worker does about a lease_no that it shares with the holder. */
const asStranger = (lease: number): Action[] => [
  { verb: 'heartbeat', lease, started: true, by: 'stranger' },
  { verb: 'settle', lease, outcome: 'completed', by: 'stranger' },
  { verb: 'settle', lease, outcome: 'failed', by: 'stranger' },
  { verb: 'give_back', lease, by: 'stranger' },
];

/** Everything that can happen to a task next, but a rescue or a sweep where there is nothing to do for it. */
export function actionsOf(task: Task, leases: number, workers: readonly Worker[]): Action[] {
  const actions: Action[] = task.leases.flatMap((lease) => [
    ...(lease.ran ? [] : [{ verb: 'heartbeat', lease: lease.no, started: false } as const]),
    { verb: 'heartbeat', lease: lease.no, started: true } as const,
    ...OUTCOMES.map((outcome: Outcome) => ({ verb: 'settle', lease: lease.no, outcome }) as const),
    { verb: 'give_back', lease: lease.no } as const,
  ]);
  const last = task.leases.at(-1);
  if (last !== undefined && workers.length > 1) actions.push(...asStranger(last.no));
  if (task.status === 'leased' && !last!.ran && task.losses === 0)
    actions.push({ verb: 'start', lease: last!.no });
  if (task.leases.length < leases) {
    for (const worker of workers) {
      for (const ahead of [false, true]) actions.push({ verb: 'claim', worker, ahead });
    }
  }
  for (const verb of ['cancel', 'add_dead', 'revive', 'discard'] as const) actions.push({ verb });
  if (isHeld(task) && task.lapse < 2) actions.push({ verb: 'lapse' });
  if (task.status === 'pending' && task.delayed) actions.push({ verb: 'fall_due' });
  if (isLive(task) && task.expiry === 'ahead') actions.push({ verb: 'overdue' });
  return actions;
}
