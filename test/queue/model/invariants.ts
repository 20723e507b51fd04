import type { Action, Surroundings } from './step.ts';
import {
  isClaimable,
  isExpired,
  isHeld,
  isLive,
  isLone,
  MAX_LOSSES,
  MAX_RELEASES,
  type Task,
} from './task.ts';

/** One thing that happened to one task. */
export interface Edge {
  readonly before: Task;
  readonly action: Action;
  readonly around: Surroundings;
  readonly after: Task;
  readonly answer: string;
}

export interface Invariant {
  /** The promise of the contract it belongs to. */
  readonly promise: 'P1' | 'P3' | 'P4' | 'P5' | 'P6' | 'P11' | 'cancel';
  readonly rule: string;
  readonly holds: (edge: Edge) => boolean;
}

export const INVARIANTS: readonly Invariant[] = [
  {
    promise: 'P1',
    rule: 'a waiting task that is due can be claimed, or has expired and is swept',
    holds: ({ after }) =>
      after.status !== 'pending' || after.delayed || isClaimable(after) || isExpired(after),
  },
  {
    promise: 'P3',
    rule: 'an end is left only by an operator',
    holds: ({ before, action, after }) =>
      isLive(before) || after.status === before.status || ['revive', 'discard'].includes(action.verb),
  },
  {
    promise: 'P3',
    rule: 'a lease has at most one outcome, and `already` is told only of one that has it',
    holds: ({ action, after, answer }) =>
      after.leases.every(({ outcomes }) => outcomes <= 1) &&
      (action.verb !== 'settle' ||
        !answer.startsWith('already') ||
        lease(after, action.lease).outcomes === 1),
  },
  {
    promise: 'P3',
    rule: 'attempts rise by one, with an outcome that is recorded, and fall only when an operator revives',
    holds: ({ before, action, after, answer }) => {
      const risen = after.attempts - before.attempts;
      if (risen === 0 || after.status === 'gone') return true;
      if (risen < 0) return action.verb === 'revive';
      return risen === 1 && action.verb === 'settle' && answer.startsWith('recorded');
    },
  },
  {
    promise: 'P4',
    rule: 'lease_no never falls, and a claim never gives out a number twice',
    holds: ({ before, after }) =>
      after.leaseNo >= before.leaseNo &&
      new Set(after.leases.map(({ no }) => no)).size === after.leases.length,
  },
  {
    promise: 'P4',
    rule: 'who does not hold the task changes nothing of its row, and is told',
    holds: ({ before, action, after, answer }) => {
      if (!('lease' in action) || action.verb === 'start') return true;
      if (holds(before, action)) return true;
      return sameRow(before, after) && isRefusal(answer);
    },
  },
  {
    promise: 'P4',
    rule: 'who holds the task is never refused, not even on a lease that ran out',
    holds: ({ before, action, answer }) =>
      !('lease' in action) || !holds(before, action) || !isRefusal(answer),
  },
  {
    promise: 'P5',
    rule: 'a live worker is not robbed before ten leases have passed since its own ran out',
    holds: ({ before, action, around, after }) =>
      action.verb !== 'rescue' ||
      sameRow(before, after) ||
      before.lapse === 2 ||
      (before.lapse === 1 && (action.own === before.owner || around.silent.includes(before.owner as 1 | 2))),
  },
  {
    promise: 'P6',
    rule: 'a live task has an attempt left, has been given back fewer than ten times and lost three starts never',
    holds: ({ after }) =>
      !isLive(after) ||
      (after.attempts < after.maxAttempts && after.releases < MAX_RELEASES && after.lostStarts < MAX_LOSSES),
  },
  {
    promise: 'P6',
    rule: 'a task that is lost before it starts pays for it once, unless it was claimed alone',
    holds: ({ before, after }) =>
      after.losses <= before.losses ||
      before.losses === 0 ||
      isLone(before) ||
      lease(before, before.leaseNo).ran,
  },
  {
    promise: 'P6',
    rule: 'whatever is lost is not lost forever',
    holds: ({ before, action, after }) =>
      action.verb !== 'rescue' ||
      !isLive(after) ||
      after.leaseNo === before.leaseNo ||
      after.losses + after.lostAhead > before.losses + before.lostAhead,
  },
  {
    promise: 'P6',
    rule: 'a dead letter says why, and it is true',
    holds: ({ before, after }) => after.status !== 'dead' || before.status === 'dead' || diedOf(after),
  },
  {
    promise: 'P11',
    rule: 'a task given back burns no attempt, and counts only if it had started',
    holds: ({ before, action, after, answer }) =>
      action.verb !== 'give_back' ||
      answer !== 'recorded' ||
      (after.attempts === before.attempts &&
        after.losses === before.losses &&
        after.releases - before.releases === (lease(before, action.lease).ran ? 1 : 0)),
  },
  {
    promise: 'cancel',
    rule: 'a task with a request to cancel never waits again',
    holds: ({ after }) => !(after.status === 'pending' && after.cancelRequested),
  },
];

const holds = (task: Task, action: Action & { readonly lease: number }) =>
  isHeld(task) && task.leaseNo === action.lease && !('by' in action);

const isRefusal = (answer: string) => answer === 'lost' || answer.startsWith('already');

const lease = (task: Task, no: number) => task.leases.find((one) => one.no === no)!;

/** The same but for what no row says. */
function sameRow(before: Task, after: Task): boolean {
  const columns = Object.keys(before) as (keyof Task)[];
  return columns.every((column) => NO_COLUMNS.has(column) || after[column] === before[column]);
}

const NO_COLUMNS: ReadonlySet<keyof Task> = new Set(['leases', 'lostStarts'] as const);

function diedOf(task: Task): boolean {
  switch (task.reason) {
    case 'attempts_spent':
      return task.attempts >= task.maxAttempts;
    case 'worker_lost':
      return task.losses >= MAX_LOSSES;
    case 'given_back_too_often':
      return task.releases >= MAX_RELEASES;
    default:
      return task.reason === 'gave_up' || task.reason === 'by_hand';
  }
}
