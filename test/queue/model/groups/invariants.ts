import type { Event } from './step.ts';
import {
  byTurn,
  GROUPS,
  hasSlot,
  isHeld,
  isLive,
  isWaiting,
  keepsOrder,
  mayStart,
  placeOf,
  slotsOf,
  type Task,
  type World,
} from './world.ts';

/** One thing that happened. */
export interface Edge {
  readonly before: World;
  readonly event: Event;
  readonly after: World;
}

export interface Invariant {
  readonly rule: string;
  readonly holds: (edge: Edge) => boolean;
}

export const INVARIANTS: readonly Invariant[] = [
  {
    rule: 'no more tasks have a slot than the limit, or than had one before',
    holds: ({ before, after }) =>
      GROUPS.every((group) => {
        const slots = countSlots(after, group);
        return slots <= Math.max(slotsOf(after, group), countSlots(before, group));
      }),
  },
  {
    rule: 'a worker has a task only while it has a slot, and slots are given out by claims alone',
    holds: ({ before, event, after }) =>
      after.tasks.every((task) => !isHeld(task) || hasSlot(task)) &&
      (event.verb === 'claim' ||
        event.verb === 'set_queue' ||
        after.tasks.every(
          (task) => !hasSlot(task) || before.tasks.some((one) => one.id === task.id && hasSlot(one)),
        )),
  },
  {
    rule: 'tasks start for the first time in the order of priority and id',
    holds: ({ before, event, after }) => {
      if (event.verb !== 'claim') return true;
      const started = after.tasks.filter((task) => isHeld(task) && !isHeld(find(before, task.id)!));
      const waiting = after.tasks.filter((task) => task.gate === 'w' && mayStart(task));
      return started.every(
        (task) =>
          find(before, task.id)!.started ||
          waiting.every((other) => other.group !== task.group || byTurn(task, other) < 0),
      );
    },
  },
  {
    rule: 'a task that is due does not wait, after a claim, while a slot of its group is free',
    holds: ({ event, after }) =>
      event.verb !== 'claim' ||
      GROUPS.every(
        (group) =>
          countSlots(after, group) >= slotsOf(after, group) ||
          after.tasks.every((task) => task.group !== group || task.gate !== 'w' || !mayStart(task)),
      ),
  },
  {
    rule: 'a claim of all types takes every task that has a slot, is due and may start',
    holds: ({ event, after }) =>
      event.verb !== 'claim' ||
      event.types.length < 2 ||
      after.tasks.every((task) => !hasSlot(task) || !isWaiting(task) || task.due > 0 || !mayStart(task)),
  },
  {
    rule: 'under strict order, what waits for a retry keeps its slot, unless its group is stopped or has too many, or it is replaced or moved',
    holds: ({ before, event, after }) =>
      mayLosePlaces({ before, event, after }) ||
      before.tasks.every((task) => {
        const now = find(after, task.id);
        if (!now || !hasSlot(task) || !isLive(now) || hasSlot(now) || task.again !== null) return true;
        if (!now.started || slotsOf(after, task.group) === 0) return true;
        return countSlots(before, task.group) > slotsOf(after, task.group);
      }),
  },
  {
    rule: 'under strict order, what loses its slot while it waits for a retry keeps its turn, unless it is replaced or moved',
    holds: ({ before, event, after }) =>
      mayLosePlaces({ before, event, after }) ||
      before.tasks.every((task) => {
        const now = find(after, task.id);
        const hasLost = now && hasSlot(task) && isWaiting(task) && isWaiting(now) && !hasSlot(now);
        return !hasLost || !now.started || now.gate === 'w' || !keepsOrder(after, task.group);
      }),
  },
  {
    rule: 'no task is lost, and none is there twice',
    holds: ({ before, event, after }) => {
      const ids = after.tasks.map(({ id }) => id);
      const keys = after.tasks
        .filter(isLive)
        .flatMap(({ key, group }) => (key === null ? [] : [`${key} ${placeOf(after, group).queue}`]));
      const kept = before.tasks.every(
        ({ id }) =>
          ids.includes(id) || ((event.verb === 'discard' || event.verb === 'outlive') && event.id === id),
      );
      return kept && new Set(ids).size === ids.length && new Set(keys).size === keys.length;
    },
  },
  {
    rule: 'of the tasks that replace a held one the last one runs, once it has ended or waits again',
    holds: ({ before, after }) =>
      before.tasks.every(({ id, key, again }) => {
        const now = find(after, id)!;
        if (again === null || isHeld(now)) return true;
        const next = after.tasks.find((task) => isLive(task) && task.key === key);
        return next !== undefined && next.payload === again.payload && !next.started;
      }),
  },
];

const find = ({ tasks }: World, id: number): Task | undefined => tasks.find((task) => task.id === id);

function countSlots({ tasks }: World, group: Task['group']): number {
  return tasks.filter((task) => task.group === group && hasSlot(task)).length;
}

/** The order is not strict, or a task is replaced or moved. */
function mayLosePlaces({ before, event, after }: Edge): boolean {
  return (
    before.settings.order === 'relaxed' ||
    after.settings.order === 'relaxed' ||
    event.verb === 'replace' ||
    (event.verb === 'edit' && event.change === 'group')
  );
}
