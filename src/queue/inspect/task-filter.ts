import { checkedName } from '../../domain/names.ts';
import { parsePriority } from '../../domain/priority.ts';
import { TASK_STATUSES, type TaskStatus } from '../../domain/task.ts';
import { EXIT, TaskqError } from '../../lib/errors.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { instantOf } from './instant.ts';

/** Which tasks: every field that is given must fit. */
export interface ListFilter {
  /** One status, or several. */
  readonly status?: TaskStatus | readonly TaskStatus[];
  /** Only tasks that wait after a failed attempt or are dead. */
  readonly failed?: true;
  /** Of this type. */
  readonly type?: string;
  /** In this queue. */
  readonly queue?: string;
  /** With all of these tags. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Died or was cancelled for this reason. */
  readonly reason?: string;
  /** With this key. */
  readonly key?: string;
  /** Of this priority, as a number or a name. */
  readonly priority?: number | string;
  /** Ended since then (live tasks: created since then): a Date, ISO 8601, or a duration back from now. */
  readonly since?: string | Date;
  /** Ended before then (live tasks: created before then). */
  readonly before?: string | Date;
  /** True: only dead letters added by hand. False: all except those. */
  readonly byHand?: boolean;
}

/** A filter as `taskq.find_ids` takes it. */
export interface TaskFilter {
  readonly status?: readonly string[];
  readonly failed?: true;
  readonly type?: string;
  readonly queue?: string;
  readonly tags?: Readonly<Record<string, string>>;
  readonly reason?: string;
  readonly key?: string;
  /** 0 to 9. */
  readonly priority?: number;
  /** ISO 8601, as `before`. */
  readonly since?: string;
  readonly before?: string;
  readonly by_hand?: boolean;
}

export type FilterName = keyof ListFilter;

/** What lists tasks, or acts on them: which statuses it is about, and why it does not take which filters. */
export interface Filtered {
  readonly statuses: readonly TaskStatus[];
  readonly not: Readonly<Partial<Record<FilterName, string>>>;
}

const BY_HAND = 'only dead letters can be added by hand';
const FINISHED: Filtered = {
  statuses: ['completed', 'cancelled', 'expired'],
  not: { failed: 'tasks that failed for good are dead letters: taskq dead list', byHand: BY_HAND },
};
const DEAD: Filtered = {
  statuses: ['dead'],
  not: { status: 'dead letters have no other status', failed: 'every dead letter counts as failed' },
};

const COUNTED = 'stats counts all tasks, by queue, status and type; taskq list takes filters';

/** What takes which filters. */
export const FILTERED = {
  list: { statuses: TASK_STATUSES, not: {} },
  cancel: {
    statuses: ['blocked', 'pending', 'leased', 'running'],
    not: { reason: 'it records why tasks are cancelled, and does not filter', byHand: BY_HAND },
  },
  retry: {
    statuses: ['pending'],
    not: {
      status: 'only pending tasks can be retried',
      reason: 'waiting tasks have no reason',
      byHand: BY_HAND,
    },
  },
  rerun: FINISHED,
  purge: FINISHED,
  'dead list': DEAD,
  'dead revive': DEAD,
  'dead discard': DEAD,
  stats: {
    statuses: TASK_STATUSES,
    not: {
      ...{ status: COUNTED, failed: COUNTED, type: COUNTED, queue: COUNTED, tags: COUNTED, reason: COUNTED },
      ...{ key: COUNTED, priority: COUNTED, before: 'the period of stats ends now', byHand: COUNTED },
    },
  },
} as const satisfies Readonly<Record<string, Filtered>>;

/** What acts on all tasks that fit. */
export type BulkVerb = Exclude<keyof typeof FILTERED, 'list' | 'dead list' | 'stats'>;

/**
 * Check a filter. Throws TaskqError (exit 2), which calls a field as `called` does: for what no field can be, and for one
 * that makes no sense for what it is to filter.
 */
export function storedFilter(
  given: ListFilter,
  { statuses, not }: Filtered = FILTERED.list,
  called: (name: FilterName) => string = (name) => name,
): TaskFilter {
  const stored: TaskFilter[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!isFilterName(name)) throw refused(`unknown filter "${name}"${didYouMean(name, FILTER_NAMES)}`);
    const why = not[name];
    if (why !== undefined) throw refused(`${called(name)}: ${why}`);
    const read: (value: never, called: string, statuses: readonly TaskStatus[]) => TaskFilter = FIELDS[name];
    stored.push(read(value as never, called(name), statuses));
  }
  const filter: TaskFilter = Object.assign({}, ...stored);
  if (filter.since !== undefined && filter.before !== undefined && filter.since >= filter.before)
    throw refused(`${called('before')} is not after ${called('since')}: no task fits`);
  return filter;
}

/**
 * The same for a verb that acts on all that fit: on those of its own statuses and, of dead letters, on none that was put
 * away by hand, unless told.
 */
export function bulkFilter(
  given: ListFilter,
  filtered: Filtered,
  called?: (name: FilterName) => string,
): TaskFilter {
  const spared: TaskFilter = filtered.statuses.includes('dead') ? { by_hand: false } : {};
  return { status: filtered.statuses, ...spared, ...storedFilter(given, filtered, called) };
}

const FIELDS: {
  readonly [Name in FilterName]-?: (
    value: NonNullable<ListFilter[Name]>,
    called: string,
    statuses: readonly TaskStatus[],
  ) => TaskFilter;
} = {
  status: (status, called, statuses) => ({
    status: [status].flat().map((one) => checkedStatus(one, called, statuses)),
  }),
  failed: (failed) => (failed ? { failed } : {}),
  type: (type, called) => ({ type: checkedName('type', type, called) }),
  queue: (queue, called) => ({ queue: checkedName('queue', queue, called) }),
  tags: (tags) => ({ tags }),
  reason: (reason) => ({ reason }),
  key: (key, called) => ({ key: checkedName('key', key, called) }),
  priority: (priority, called) => ({ priority: parsePriority(priority, called) }),
  since: (since, called) => ({ since: instantOf(since, called) }),
  before: (before, called) => ({ before: instantOf(before, called) }),
  byHand: (byHand) => ({ by_hand: byHand }),
};

/** In the order in which they are told. */
export const FILTER_NAMES = Object.keys(FIELDS) as FilterName[];

function isFilterName(name: string): name is FilterName {
  return Object.hasOwn(FIELDS, name);
}

function checkedStatus(status: string, called: string, known: readonly TaskStatus[]): string {
  if (known.some((name) => name === status)) return status;
  throw refused(
    `${called} ${JSON.stringify(status)}: expected ${known.join(', ')}${didYouMean(status, known)}`,
  );
}

function refused(problem: string): TaskqError {
  return new TaskqError('bad_option', problem, { exitCode: EXIT.usage });
}
