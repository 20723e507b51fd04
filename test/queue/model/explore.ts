import { type Edge, INVARIANTS, type Invariant } from './invariants.ts';
import type { Action, Step, Surroundings } from './step.ts';
import { isHeld, type Task } from './task.ts';
import { actionsOf } from './world.ts';

/** All states that a task can reach, numbered, and all ways from one to another. */
export interface Graph {
  readonly tasks: readonly Task[];
  /** For each state the others that it can become. */
  readonly moves: readonly (readonly Move[])[];
  /** The number of edges, those to the same state included; all keep the invariants. */
  readonly edges: number;
}

export interface Move {
  readonly to: number;
  /** Only while no other live task has its key. */
  readonly needsKey: boolean;
}

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
  const found = new Map([[keyOf(first), 0]]);
  const tasks = [first];
  const moves: Move[][] = [];
  const came: { readonly from: number; readonly edge: Edge }[] = [];
  let edges = 0;
  for (let at = 0; at < tasks.length; at++) {
    const needsKey = new Map<number, boolean>();
    for (const edge of edgesOf(tasks[at]!, step)) {
      edges++;
      const broken = INVARIANTS.find((invariant) => !invariant.holds(edge));
      if (broken) return { invariant: broken, trace: [...traceTo(at, came), textOf(edge)] };
      if (edge.after === edge.before) continue;
      const task = normal(edge.after);
      const key = keyOf(task);
      const to = found.get(key) ?? tasks.length;
      if (to !== at && needsKey.get(to) !== false) needsKey.set(to, edge.action.verb === 'revive');
      if (to < tasks.length) continue;
      found.set(key, to);
      came[to] = { from: at, edge };
      tasks.push(task);
    }
    moves[at] = [...needsKey].map(([to, needs]) => ({ to, needsKey: needs }));
  }
  return { tasks, moves, edges };
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

/** Forgets what makes no difference from here on: who had an old lease, the owner of a task that no worker holds. */
export function normal(task: Task): Task {
  const held = isHeld(task);
  const leases = task.leases.map((lease) =>
    held && lease.no === task.leaseNo ? lease : { ...lease, worker: 1 as const, ran: true },
  );
  return { ...task, errors: 0, owner: held ? task.owner : 0, settledBy: 0, leases };
}

export function keyOf(task: Task): string {
  let key = '';
  for (const column of Object.keys(task) as (keyof Task)[]) {
    if (column !== 'leases') key += `${task[column]},`;
  }
  for (const { no, worker, ran, outcomes } of task.leases) key += `|${no},${worker},${ran},${outcomes}`;
  return key;
}

function traceTo(at: number, came: readonly { from: number; edge: Edge }[]): string[] {
  const step = came[at];
  return step === undefined ? [] : [...traceTo(step.from, came), textOf(step.edge)];
}

function textOf({ action, answer, after }: Edge): string {
  const { verb, ...rest } = action;
  const { status, leaseNo, attempts, losses, releases } = after;
  const call = [verb, ...Object.entries(rest).map(([name, value]) => `${name} ${value}`)].join(', ');
  return `${call} → ${answer || '-'}: ${status} lease_no ${leaseNo} attempts ${attempts} losses ${losses} releases ${releases}`;
}
