import { type Edge, INVARIANTS, type Invariant } from './invariants.ts';
import type { Action, Step, Surroundings } from './step.ts';
import { isHeld, type Task, type Worker } from './task.ts';
import { actionsOf } from './world.ts';

/** All states that a task can reach, numbered, and all ways from one to another. */
export interface Graph {
  readonly tasks: readonly Task[];
  /** For each state what can become of it, by what must be so around it. */
  readonly moves: readonly ReadonlyMap<number, Need>[];
  /** The number of edges, those to the same state included; all keep the invariants. */
  readonly edges: number;
}

/** What must be so around a task for something to happen to it: a worker is silent, no other task has its key. */
export type Need = 'nothing' | Worker | 'key free';

export interface Violation {
  readonly invariant: Invariant;
  /** No shorter sequence violates an invariant. */
  readonly trace: readonly string[];
}

/** So many claims of a task. */
export const LEASES = 3;

/**
 * Walks breadth-first through everything that can happen to a task among any number of others: they matter to it
 * only by its surroundings, and here these may be anything at any moment. Ends with the first violation.
 */
export function explore(start: Task, step: Step): Graph | Violation {
  const first = normal(start);
  const found = new Map<string, number>([[keyOf(first), 0]]);
  const tasks = [first];
  const moves: Map<number, Need>[] = [];
  const came: { readonly from: number; readonly edge: Edge }[] = [];
  let edges = 0;
  for (let at = 0; at < tasks.length; at++) {
    moves[at] = new Map();
    for (const edge of edgesOf(tasks[at]!, step)) {
      edges++;
      const broken = INVARIANTS.find((invariant) => !invariant.holds(edge));
      if (broken) return { invariant: broken, trace: [...traceTo(at, came), tell(edge)] };
      const task = normal(edge.after);
      const key = keyOf(task);
      const to = found.get(key) ?? tasks.length;
      if (to !== at && moves[at]!.get(to) !== 'nothing') moves[at]!.set(to, needOf(edge));
      if (to < tasks.length) continue;
      found.set(key, to);
      came[to] = { from: at, edge };
      tasks.push(task);
    }
  }
  return { tasks, moves, edges };
}

function needOf({ before, action, around }: Edge): Need {
  if (action.verb === 'revive') return 'key free';
  const free = action.verb !== 'rescue' || before.lapse === 2 || action.own === before.owner;
  return free ? 'nothing' : around.silent[0]!;
}

function* edgesOf(before: Task, step: Step): Iterable<Edge> {
  for (const action of [...actionsOf(before, LEASES, [1, 2]), ...SWEEPS]) {
    for (const around of surroundingsFor(action)) {
      const { task, answer } = step(before, action, around);
      yield { before, action, around, after: task, answer };
    }
  }
}

const SWEEPS: readonly Action[] = [
  ...([0, 1, 2] as const).map((own) => ({ verb: 'rescue', own }) as const),
  { verb: 'expire' },
];

const ALONE: Surroundings = { silent: [], keyHeld: false };

/** All that make a difference. */
function surroundingsFor({ verb }: Action): readonly Surroundings[] {
  if (verb === 'rescue') return [ALONE, { ...ALONE, silent: [1] }, { ...ALONE, silent: [2] }];
  return verb === 'revive' ? [ALONE, { ...ALONE, keyHeld: true }] : [ALONE];
}

/** Forgets what can make no difference any more: who had an old lease, the owner of what nobody holds. */
export function normal(task: Task): Task {
  const held = isHeld(task);
  const leases = task.leases.map((lease) =>
    held && lease.no === task.leaseNo ? lease : { ...lease, worker: 1 as const, ran: true },
  );
  return { ...task, errors: 0, owner: held ? task.owner : 0, settledBy: 0, leases };
}

export function keyOf(task: Task): string {
  const { leases, ...row } = task;
  return `${Object.values(row)}|${leases.map(({ no, worker, ran, outcomes }) => [no, worker, ran, outcomes])}`;
}

function traceTo(at: number, came: readonly { from: number; edge: Edge }[]): string[] {
  const step = came[at];
  return step === undefined ? [] : [...traceTo(step.from, came), tell(step.edge)];
}

function tell({ action, answer, after }: Edge): string {
  const { verb, ...rest } = action;
  const { status, leaseNo, attempts, losses, releases } = after;
  const said = [verb, ...Object.entries(rest).map(([name, value]) => `${name} ${value}`)].join(', ');
  return `${said} → ${answer || '-'}: ${status} lease_no ${leaseNo} attempts ${attempts} losses ${losses} releases ${releases}`;
}
