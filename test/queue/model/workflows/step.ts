import {
  type Edge,
  type Flow,
  hasDied,
  hasEnded,
  isDeath,
  isUnclaimed,
  newStep,
  type Step,
  stepOf,
  type World,
} from './world.ts';

export const OUTCOMES = ['completed', 'failed', 'dead', 'cancelled'] as const;

/** What can happen. A step is named; `failed` waits again, and is due at once. */
export type Event =
  /** Attends to the workflow, and takes what is due; `fill`: takes nothing. */
  | { readonly verb: 'claim' | 'fill' }
  | { readonly verb: 'settle'; readonly step: string; readonly outcome: (typeof OUTCOMES)[number] }
  /** `last`: once too often. */
  | { readonly verb: 'give_back' | 'rescue'; readonly step: string; readonly last: boolean }
  | { readonly verb: 'cancel' | 'add_dead' | 'revive' | 'overdue'; readonly step: string }
  | { readonly verb: 'add'; readonly step: string; readonly after: readonly Edge[] }
  /** By a transaction that was adding it when the workflow was cancelled. `taken`: it runs before anyone attends. */
  | { readonly verb: 'add_late'; readonly step: string; readonly taken: boolean }
  /** `look`: the task that follows the end of a step runs. `expire`: the sweep comes. */
  | { readonly verb: 'close' | 'cancel_workflow' | 'retry_workflow' | 'expire' | 'look' };

/** The answer is what the SQL function says. */
export interface Stepped {
  readonly world: World;
  readonly answer: string;
}

export type Act = (world: World, event: Event) => Stepped;

/** The protocol of workflows, as if each claim looked at all steps: an ask that is left out makes a difference. */
export const act: Act = (world, event) => {
  switch (event.verb) {
    case 'claim':
    case 'fill':
      return claim(attended(world), event.verb === 'claim');
    case 'settle':
      return settle(world, stepOf(world, event.step), event.outcome);
    case 'give_back':
      return {
        world: putBack(world, event.step, event.last),
        answer: 'recorded',
      };
    case 'rescue': {
      const isCancelled = stepOf(world, event.step).cancelRequested;
      const answer = isCancelled ? 'cancelled' : event.last ? 'dead' : 'pending';
      return { world: putBack(world, event.step, event.last), answer };
    }
    case 'cancel': {
      const step = stepOf(world, event.step);
      return isUnclaimed(step)
        ? { world: ended(world, step.name, 'cancelled'), answer: 'cancelled' }
        : { world: changed(world, event.step, { cancelRequested: true }), answer: 'requested' };
    }
    case 'add_dead':
      return { world: ended(world, event.step, 'dead'), answer: 'dead' };
    case 'revive':
      return isStopping(world)
        ? { world, answer: 'refused' }
        : { world: revived(world, stepOf(world, event.step)), answer: 'revived' };
    case 'overdue':
      return unanswered(changed(world, event.step, { expiry: 'passed' }));
    case 'expire': {
      const late = world.steps.filter(isLate);
      const after = late.reduce((before, { name }) => ended(before, name, 'expired'), world);
      return { world: after, answer: `${late.length}` };
    }
    case 'add':
      return unanswered({ ...world, steps: [...world.steps, newStep(event.step, event.after)] });
    case 'add_late': {
      const added = { ...world, steps: [...world.steps, newStep(event.step)] };
      return event.taken
        ? {
            world: changed(added, event.step, { status: 'running', started: true }),
            answer: event.step,
          }
        : unanswered(added);
    }
    case 'close':
      return unanswered(closed({ ...world, isOpen: false, reopens: false }));
    case 'cancel_workflow':
      return unanswered(
        attended({
          ...{ ...world, isOpen: false, cancelRequested: true },
          ...{ hasAdders: world.isOpen, reopens: world.reopens || world.isOpen },
        }),
      );
    case 'retry_workflow':
      return retried(world);
    case 'look': {
      const after = attended(world);
      return { world: { ...after, flow: { ...after.flow, isLooking: false } }, answer: 'recorded' };
    }
    default:
      return event satisfies never;
  }
};

/** It ends at once if no step is left. */
const closed = (world: World) => (world.steps.every(hasEnded) ? attended(world) : world);

const unanswered = (world: World): Stepped => ({ world, answer: '' });

/** The sweep ends it: one that has started does not expire. */
export const isLate = (step: Step) => isUnclaimed(step) && step.expiry === 'passed' && !step.started;

function changed(world: World, name: string, change: Partial<Step>): World {
  return {
    ...world,
    steps: world.steps.map((step) => (step.name === name ? { ...step, ...change } : step)),
  };
}

/** A dead letter does not expire, not even once it is revived. */
function ended(world: World, name: string, status: Step['status'], cancelledBy: string | null = null): World {
  const change = { status, cancelRequested: false, cancelledBy, expiry: 'none' } as const;
  return { ...changed(world, name, change), stepDue: true };
}

/** One that died while it waited for its parents waits for them again. */
function revived(world: World, { name, edges }: Step): World {
  const status = edges.every(({ isMet }) => isMet) ? 'pending' : 'waiting';
  return changed(world, name, { status, cancelledBy: null });
}

/**
 * All that has died returns, and waits again for the parents that return with it. What has not ended forgets that it
 * was to end.
 */
function retried(world: World): Stepped {
  const dead = world.steps.filter(hasDied).map(({ name }) => name);
  const asked = world.steps.filter(({ cancelRequested }) => cancelRequested).map(({ name }) => name);
  const answer = [...dead.map((name) => `${name} retried`), ...asked.map((name) => `${name} ending`)].join(
    ', ',
  );
  const isStopping = !isEnd(world.flow.state) || !world.steps.every(hasEnded);
  const isOpen = world.isOpen || world.reopens;
  const { isLooking, isLookDue, live, waiting } = world.flow;
  const looks = isOpen && (world.cancelRequested || (!isLooking && live <= waiting));
  if (answer === '' && !(world.cancelRequested && isStopping) && !looks) return { world, answer };
  const steps = world.steps.map((step): Step => {
    const returns = dead.includes(step.name);
    if (!returns && step.status !== 'waiting') return { ...step, cancelRequested: false };
    const edges = step.edges.map((edge) => ({ ...edge, isMet: edge.isMet && !dead.includes(edge.parent) }));
    const status = edges.every(({ isMet }) => isMet) ? 'pending' : 'waiting';
    return { ...step, edges, status: returns ? status : 'waiting', cancelledBy: null };
  });
  const flow: Flow = {
    ...{ ...world.flow, state: isOpen ? 'open' : 'running', isFailing: false },
    ...{ isLooking: isLooking || isOpen, isLookDue: isOpen ? isLooking : isLookDue, hasTold: false },
  };
  return {
    world: { ...world, steps, isOpen, reopens: false, flow, cancelRequested: false, hasAdders: false },
    answer,
  };
}

function settle(world: World, step: Step, outcome: (typeof OUTCOMES)[number]): Stepped {
  if (outcome === 'completed') return { world: ended(world, step.name, 'completed'), answer: 'recorded' };
  if (outcome === 'dead') return { world: ended(world, step.name, 'dead'), answer: 'recorded dead' };
  if (outcome === 'cancelled' || step.cancelRequested)
    return { world: ended(world, step.name, 'cancelled'), answer: 'recorded cancelled' };
  return { world: changed(world, step.name, { status: 'pending' }), answer: 'recorded pending' };
}

function putBack(world: World, name: string, last: boolean): World {
  if (stepOf(world, name).cancelRequested) return ended(world, name, 'cancelled');
  return last ? ended(world, name, 'dead') : changed(world, name, { status: 'pending' });
}

function claim(world: World, takes: boolean): Stepped {
  const taken = world.steps.filter((step) => takes && step.status === 'pending' && !isLate(step));
  const steps = world.steps.map(
    (step): Step => (taken.includes(step) ? { ...step, status: 'running', started: true } : step),
  );
  const answer = [taken.map(({ name }) => name).join(', '), flowOf(world.flow)].filter(Boolean).join('; ');
  return { world: { ...world, steps }, answer };
}

/** The workflow as the driver says it. */
function flowOf({ state, live, waiting, deaths, isFailing, failings, ends, isLooking }: Flow): string {
  const flags = [
    isFailing && 'failing',
    failings > 0 && `failings ${failings}`,
    ends > 0 && `ends ${ends}`,
    isLooking && 'looking',
  ];
  return [state, `live ${live}`, `waiting ${waiting}`, `deaths ${deaths}`, ...flags.filter(Boolean)].join(
    ' ',
  );
}

/** Counts the ends of parents, releases and cancels until nothing changes, and says how the workflow is. */
export function attended(world: World): World {
  let now = world;
  for (let before: World | undefined; before !== now; ) {
    before = now;
    now = cancelledBelow(failed(now));
    now = released(met(now));
    if (JSON.stringify(now) === JSON.stringify(before)) break;
  }
  return concluded(now);
}

/** What waits below the death of a parent that it is to be cancelled by. */
function cancelledBelow(world: World): World {
  for (const step of world.steps) {
    if (step.status !== 'waiting') continue;
    const dead = step.edges.find(
      ({ parent, onDeath }) => onDeath === 'cancel' && hasDied(stepOf(world, parent)),
    );
    if (dead) return cancelledBelow(ended(world, step.name, 'cancelled', dead.parent));
  }
  return world;
}

function met(world: World): World {
  const meets = ({ parent, onDeath }: Edge) => {
    const { status } = stepOf(world, parent);
    return status === 'completed' || (isDeath(status) && onDeath === 'continue');
  };
  const steps = world.steps.map((step) => ({
    ...step,
    edges: step.edges.map((edge) => ({ ...edge, isMet: edge.isMet || meets(edge) })),
  }));
  return { ...world, steps };
}

function released(world: World): World {
  const isReady = ({ status, edges }: Step) => status === 'waiting' && edges.every(({ isMet }) => isMet);
  return {
    ...world,
    steps: world.steps.map((step): Step => (isReady(step) ? { ...step, status: 'pending' } : step)),
  };
}

/** Deaths that no parent caused. */
const countDeaths = ({ steps }: World) =>
  steps.filter((step) => hasDied(step) && step.cancelledBy === null).length;

/** Once more steps have died than it allows, a task follows; with fail_fast, or a cancel, no step goes on. */
function failed(world: World): World {
  const { flow } = world;
  const fails = !flow.isFailing && !world.cancelRequested && countDeaths(world) > world.maxDead;
  const after = fails ? { ...world, flow: { ...flow, isFailing: true, failings: flow.failings + 1 } } : world;
  return isStopping(after) ? stopped(after) : after;
}

const isStopping = ({ cancelRequested, failFast, flow }: World) =>
  cancelRequested || (failFast && flow.isFailing);

/** What nobody has ends, and what runs is asked to. */
function stopped(world: World): World {
  const steps = world.steps.map(
    (step): Step => (step.status === 'running' ? { ...step, cancelRequested: true } : step),
  );
  const asked: World = { ...world, steps };
  return steps.filter(isUnclaimed).reduce((before, { name }) => ended(before, name, 'cancelled'), asked);
}

function concluded(world: World): World {
  const { steps, flow } = world;
  const live = steps.filter((step) => !hasEnded(step)).length;
  const waiting = steps.filter(({ status }) => status === 'waiting').length;
  const isOver = live === 0 && !world.isOpen;
  const failsFast = flow.isFailing && world.failFast;
  const staysCancelled = world.cancelRequested && isEnd(flow.state);
  const staysEnded = failsFast && isEnd(flow.state);
  const liveState = live > waiting ? 'running' : 'stuck';
  // No on_step task of the model dies.
  const openState = live <= waiting && failsFast && flow.hasTold && !flow.isLooking ? 'stuck' : 'open';
  const endState = staysEnded && !world.cancelRequested ? flow.state : stateOfEnd(world);
  const state = world.isOpen ? openState : isOver || staysCancelled || staysEnded ? endState : liveState;
  const ends = isOver && !isEnd(flow.state) ? flow.ends + 1 : flow.ends;
  const isDue = world.stepDue || flow.isLookDue;
  const mayLook = !world.cancelRequested && (!failsFast || (live === 0 && !flow.hasTold));
  const looks = isDue && !flow.isLooking && mayLook;
  return {
    ...world,
    stepDue: false,
    flow: {
      ...flow,
      state,
      live,
      waiting,
      deaths: countDeaths(world),
      ends,
      isLooking: flow.isLooking || looks,
      isLookDue: isDue && !looks,
      hasTold: looks ? failsFast : flow.hasTold,
    },
  };
}

const isEnd = (state: Flow['state']) => ['completed', 'failed', 'cancelled'].includes(state);

function stateOfEnd({ steps, cancelRequested }: World): Flow['state'] {
  if (cancelRequested) return 'cancelled';
  const last = steps.filter(({ name }) =>
    steps.every(({ edges }) => edges.every(({ parent }) => parent !== name)),
  );
  return last.every(({ status }) => status === 'completed') ? 'completed' : 'failed';
}
