import { checkedName } from '../domain/names.ts';
import type { Queryable } from '../lib/database.ts';
import { type GroupStop, type ListedGroup, listGroups } from '../queue/inspect/list-groups.ts';
import type { GroupApplying, ShownGroup } from '../queue/inspect/show-group.ts';
import { causeOf } from './explanation.ts';
import { known, type Names } from './known-options.ts';
import { timeOf } from './time-of.ts';

/** A group of a queue. */
export interface GroupRecord {
  /** Its queue. */
  readonly queue: string;
  /** Its name. */
  readonly name: string;
  /** Its own limit; null: that of its queue applies. */
  readonly limit: number | null;
  /** Tasks that may have a slot now: the limit in force, 0 while the group is stopped; null: any number. */
  readonly slots: number | null;
  /** The rate in force, its own or its queue's; null: none. */
  readonly rate: string | null;
  /** How many may get a slot at once after a pause by that rate; null: there is no rate. */
  readonly burst: number | null;
  /** Tasks that have a slot. */
  readonly holding: number;
  /** Tasks that wait for a slot. */
  readonly waiting: number;
  /** Tasks that are not due, and wait for a slot then. */
  readonly delayed: number;
  /** Null: it is not paused. */
  readonly pause: GroupPause | null;
  /** What stops it: a pause, a dead letter, or a task that snoozed it; empty: nothing. */
  readonly stops: readonly GroupStop<Date>[];
}

export interface GroupPause {
  readonly since: Date;
  /** Who paused it: the role of the session, with the name that was given. */
  readonly by: string | null;
  readonly reason: string | null;
}

/** A group with its settings and tasks. */
export interface GroupDetails extends GroupRecord {
  /** The settings in effect, each with its origin. */
  readonly applies: GroupApplies;
  /** When its rate allows the next slot; null: now, or it has no rate. */
  readonly nextSlotAt: Date | null;
  /** The tasks that have a slot, at most ten, by id. */
  readonly holders: readonly SlotHolder[];
  /** The tasks that get the next slots, at most ten, in order. */
  readonly next: readonly SlotCandidate[];
}

export interface GroupApplies {
  /** Null: no limit. */
  readonly limit: GroupApplying<number | null>;
  /** Null: no rate. */
  readonly rate: GroupApplying<string | null>;
  readonly order: GroupApplying<'strict' | 'relaxed'>;
  readonly onDead: GroupApplying<'go-on' | 'hold'>;
}

/** A task that has a slot of its group. */
export interface SlotHolder {
  /** Its id. */
  readonly id: string;
  /** The name of its handler. */
  readonly type: string;
  /** 0 is the most urgent, 9 the least. */
  readonly priority: number;
  /** `pending`, `leased` or `running`. */
  readonly status: string;
  /** When it started; null: it does not run. */
  readonly since: Date | null;
  /** When it is due; null: a worker has it. */
  readonly due: Date | null;
}

/** A task that waits for a slot of its group. */
export interface SlotCandidate {
  /** Its id. */
  readonly id: string;
  /** The name of its handler. */
  readonly type: string;
  /** 0 is the most urgent, 9 the least. */
  readonly priority: number;
  /** When it was enqueued. */
  readonly createdAt: Date;
}

export interface GroupChanges {
  /** Tasks of the group that have a slot at a time; null: as its queue sets. */
  readonly limit?: number | null;
  /** Rate at which tasks of the group get slots, such as `'10/1s'`; null: as its queue sets, without a burst of its own. */
  readonly rate?: string | null;
  /** How many may get one at once after a pause; needs a rate. Null: what that allows in a tenth of a second. */
  readonly burst?: number | null;
}

export interface GroupPauseSettings {
  /** Reason for the record, shown with the group. */
  readonly reason?: string;
  /** Name to record beside the session's role. */
  readonly by?: string;
}

const PAGE = 100;

/** Which groups of a queue. */
export interface GroupFilter {
  /** Only those that are stopped: paused, held at a dead letter, or put off by one of their tasks. */
  readonly stopped?: boolean;
}

const FILTER: Names<GroupFilter> = { stopped: true };

/** Yields the groups of a queue in order, reading a page at a time; `ask` runs work that needs the database. */
export async function* groupRecords(
  ask: <T>(work: (db: Queryable) => Promise<T>) => Promise<T>,
  queue: string,
  filter: GroupFilter,
): AsyncGenerator<GroupRecord, void, undefined> {
  known(filter, FILTER);
  const name = checkedName('queue', queue);
  const { stopped = false } = filter;
  for (let last: ListedGroup | undefined; ; ) {
    const after = last?.name ?? '';
    const groups = await ask((db) => listGroups(db, name, { after, limit: PAGE, stopped }));
    yield* groups.map((group) => recordOf(name, group));
    last = groups.at(-1);
    if (last === undefined || groups.length < PAGE) return;
  }
}

function recordOf(queue: string, group: ListedGroup): GroupRecord {
  const { name, group_limit: limit, slots, rate, burst, holding, waiting, delayed, paused_at: since } = group;
  const pause =
    since === null ? null : { since: new Date(since), by: group.paused_by, reason: group.pause_reason };
  const stops = group.stops.map((stop) => causeOf(stop) as GroupStop<Date>);
  return { queue, name, limit, slots, rate, burst, holding, waiting, delayed, pause, stops };
}

/** Converts the answer of `taskq.show_group`. */
export function groupDetailsOf(group: ShownGroup): GroupDetails {
  const { limit, rate, order, on_dead: onDead } = group.applies;
  return {
    ...recordOf(group.queue, group),
    applies: { limit, rate, order, onDead },
    nextSlotAt: timeOf(group.next_slot_at),
    holders: group.holders.map(({ since, due, ...same }) => ({
      ...same,
      since: timeOf(since),
      due: timeOf(due),
    })),
    next: group.next.map(({ created_at, ...same }) => ({ ...same, createdAt: new Date(created_at) })),
  };
}
