/** What a child does when its parent dies: is dead, cancelled or expired. */
export type OnDeath = 'cancel' | 'continue' | 'wait';

export interface Edge {
  readonly parent: string;
  readonly onDeath: OnDeath;
  /** The end of the parent has been counted. */
  readonly isMet: boolean;
}

export const DEATHS = ['dead', 'cancelled', 'expired'] as const;
export type Death = (typeof DEATHS)[number];

export interface Step {
  readonly name: string;
  readonly edges: readonly Edge[];
  readonly status: 'waiting' | 'pending' | 'running' | 'completed' | Death;
  readonly expiry: 'none' | 'ahead' | 'passed';
  readonly started: boolean;
  readonly cancelRequested: boolean;
  /** The parent whose death cancelled it. */
  readonly cancelledBy: string | null;
}

/** A workflow as a claim leaves it. */
export interface Flow {
  readonly state: 'open' | 'running' | 'stuck' | 'completed' | 'failed' | 'cancelled';
  readonly live: number;
  readonly waiting: number;
  readonly deaths: number;
  readonly isFailing: boolean;
  /** Tasks that followed its failing and its end. */
  readonly failings: number;
  readonly ends: number;
  /** The task that follows the end of a step waits. */
  readonly isLooking: boolean;
  /** Another one is to follow. */
  readonly isLookDue: boolean;
  /** It fails fast, and the last such task has followed. */
  readonly hasTold: boolean;
}

/** One workflow, whose steps one worker claims. */
export interface World {
  readonly steps: readonly Step[];
  readonly isOpen: boolean;
  /** It was cancelled while it was open: a retry opens it again. */
  readonly reopens: boolean;
  readonly failFast: boolean;
  readonly maxDead: number;
  readonly cancelRequested: boolean;
  /** Transactions were adding steps when it was cancelled. */
  readonly hasAdders: boolean;
  /** A step has ended that no claim has counted. */
  readonly stepDue: boolean;
  readonly flow: Flow;
}

export interface Beginning {
  readonly name: string;
  readonly world: World;
}

const ends = (status: Step['status']) => status === 'completed' || isDeath(status);
export const isDeath = (status: Step['status']): status is Death => DEATHS.some((death) => death === status);
export const hasEnded = ({ status }: Step) => ends(status);
/** Nobody has claimed it. */
export const isUnclaimed = ({ status }: Step) => status === 'waiting' || status === 'pending';
export const hasDied = ({ status }: Step) => isDeath(status);
export const stepOf = ({ steps }: World, name: string): Step => steps.find((step) => step.name === name)!;

export function newStep(name: string, edges: readonly Edge[] = [], expiry: Step['expiry'] = 'none'): Step {
  const status = edges.length > 0 ? 'waiting' : 'pending';
  return { name, edges, status, expiry, started: false, cancelRequested: false, cancelledBy: null };
}

const after = (parent: string, onDeath: OnDeath): Edge => ({ parent, onDeath, isMet: false });

function beginning(name: string, steps: readonly Step[], options: Partial<World> = {}): Beginning {
  const waiting = steps.filter(({ status }) => status === 'waiting').length;
  const isOpen = options.isOpen ?? false;
  const flow: Flow = {
    ...{ state: isOpen ? 'open' : 'running', live: steps.length, waiting, deaths: 0, isFailing: false },
    ...{ failings: 0, ends: 0, isLooking: false, isLookDue: false, hasTold: false },
  };
  const world = {
    ...{
      steps,
      isOpen,
      reopens: false,
      failFast: false,
      maxDead: 0,
      cancelRequested: false,
      hasAdders: false,
    },
    ...{ stepDue: false, flow },
  };
  return { name, world: { ...world, ...options } };
}

/** A parent and two children of each pair of kinds; a diamond; and what counts its deaths. */
export const BEGINNINGS: readonly Beginning[] = [
  beginning('a parent of a child that is cancelled and one that goes on', [
    newStep('a', [], 'ahead'),
    newStep('b', [after('a', 'cancel')]),
    newStep('c', [after('a', 'continue')]),
  ]),
  beginning(
    'a parent of a child that waits and one that goes on, which steps are added to',
    [newStep('a'), newStep('b', [after('a', 'wait')], 'ahead'), newStep('c', [after('a', 'continue')])],
    { isOpen: true },
  ),
  beginning('a diamond', [
    newStep('a'),
    newStep('b', [after('a', 'wait')]),
    newStep('c', [after('a', 'continue')]),
    newStep('d', [after('b', 'cancel'), after('c', 'continue')]),
    newStep('e', [after('d', 'continue'), after('a', 'cancel')]),
  ]),
  beginning(
    'two that stand alone, one after both, and one that either may cancel, of which one may die',
    [
      newStep('a'),
      newStep('b'),
      newStep('c', [after('a', 'continue'), after('b', 'continue')]),
      newStep('d', [after('b', 'cancel')]),
      newStep('e', [after('a', 'cancel'), after('d', 'cancel')]),
    ],
    { failFast: true, maxDead: 1 },
  ),
];
