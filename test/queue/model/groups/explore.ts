import { eventsOf } from './events.ts';
import { type Edge, INVARIANTS, type Invariant } from './invariants.ts';
import type { Event, Step } from './step.ts';
import { isLive, type Task, type World } from './world.ts';

export interface Graph {
  readonly states: number;
  /** The number of edges, those to the same state included; all keep the invariants. */
  readonly edges: number;
}

export interface Violation {
  readonly invariant: Invariant;
  /** No shorter sequence of these events violates an invariant. */
  readonly trace: readonly string[];
}

/**
 * Walks breadth-first through what can happen to the tasks of one group, with this many of them live or dead at a time.
 * Ends after `most` states, or with the first violation.
 */
export function explore(
  root: World,
  step: Step,
  { tasks, most }: { tasks: number; most: number },
): Graph | Violation {
  const found = new Set([JSON.stringify(root)]);
  const states: { readonly world: World; readonly trace: readonly string[] }[] = [{ world: root, trace: [] }];
  let edges = 0;
  for (let at = 0; at < states.length; at++) {
    const { world: before, trace } = states[at]!;
    for (const event of eventsOf(before).filter((event) => isNarrow(event, before.tasks.length < tasks))) {
      edges++;
      const edge = { before, event, after: step(before, event).world };
      const invariant = INVARIANTS.find(({ holds }) => !holds(edge));
      if (invariant) return { invariant, trace: [...trace, textOf(edge)] };
      const world = normal(edge.after);
      const key = JSON.stringify(world);
      if (states.length === most || found.has(key)) continue;
      found.add(key);
      states.push({ world, trace: [...trace, textOf(edge)] });
    }
  }
  return { states: states.length, edges };
}

/** Leaves out what differs only for another group or in the functions called, and what only sequences vary. */
function isNarrow(event: Event, hasRoom: boolean): boolean {
  if ('group' in event && event.group !== 'a') return false;
  switch (event.verb) {
    case 'enqueue':
      return hasRoom && event.door === 'keyed' && event.type === 'one';
    case 'claim':
      return event.types.length !== 1;
    case 'edit_row':
      return event.column === 'priority';
    case 'edit':
      return event.change !== 'payload';
    case 'replace':
      return event.policy === 'replace' && event.priority === 1;
    case 'set_group':
      return event.limit !== null;
    case 'outlive':
    case 'set_queue':
      return false;
    default:
      return true;
  }
}

/** Forgets what has ended, and what the ids and the payloads are but for their order. */
function normal(world: World): World {
  const tasks = world.tasks.filter((task) => isLive(task) || task.state === 'dead');
  const idOf = ranks(tasks.flatMap(({ id, key, again }) => [id, key ?? id, again?.id ?? id]));
  const payloadOf = ranks(tasks.flatMap(({ payload, again }) => [payload, again?.payload ?? payload]));
  return {
    ...world,
    tasks: tasks.map(
      (task): Task => ({
        ...task,
        id: idOf.get(task.id)!,
        key: task.key === null ? null : idOf.get(task.key)!,
        payload: payloadOf.get(task.payload)!,
        again: task.again && {
          ...task.again,
          id: idOf.get(task.again.id)!,
          payload: payloadOf.get(task.again.payload)!,
        },
      }),
    ),
    nextId: idOf.size + 1,
    nextPayload: payloadOf.size + 1,
  };
}

function ranks(numbers: readonly number[]): Map<number, number> {
  return new Map([...new Set(numbers)].sort((a, b) => a - b).map((number, place) => [number, place + 1]));
}

function textOf({ event, after }: Edge): string {
  const { verb, ...rest } = event;
  const tasks = after.tasks.map(({ id, gate, state }) => `${id} ${gate ?? state}`).join(', ');
  return `${verb} ${JSON.stringify(rest)}: ${tasks}`;
}
