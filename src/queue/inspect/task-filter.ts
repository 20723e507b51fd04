import { checkedName } from '../../domain/names.ts';
import { parsePriority } from '../../domain/priority.ts';
import { TASK_STATUSES, type TaskStatus } from '../../domain/task.ts';
import { checkedWorkflowId } from '../../domain/task-id.ts';
import { badOption } from '../../lib/bad-option.ts';
import { didYouMean } from '../../lib/nearest.ts';
import { shown } from '../../lib/shown.ts';
import { instantOf } from './instant.ts';

/** Which tasks to select: a task must fit every field that is given. */
export interface ListFilter {
  /** One status, or several. */
  readonly status?: TaskStatus | readonly TaskStatus[];
  /** Only tasks that wait after a failed attempt or are dead. */
  readonly failed?: true;
  /** Only this type. */
  readonly type?: string;
  /** Only this queue. */
  readonly queue?: string;
  /** Only tasks with all of these tags. */
  readonly tags?: Readonly<Record<string, string>>;
  /** Only tasks that died or were cancelled for this reason. */
  readonly reason?: string;
  /** Only tasks with this key. */
  readonly key?: string;
  /** Only tasks of this group. */
  readonly group?: string;
  /** Only tasks of the workflow with this id. */
  readonly workflow?: string;
  /** Only this priority, as a number or a name. */
  readonly priority?: number | string;
  /**
   * Only tasks that ended since then (live tasks: created since then): a Date, ISO 8601, or a duration back from now.
   */
  readonly since?: string | Date;
  /** Only tasks that ended before then (live tasks: created before then). */
  readonly before?: string | Date;
  /**
   * Only tasks whose payload has these values: `{ 'order.id': 42 }` is the member `id` of the member `order`, and
   * `{ 'items.0.sku': 'A7' }` is in the first item. A value is compared as text, so 42 is found as a number or a string.
   */
  readonly payload?: Readonly<Record<string, string | number | boolean>>;
  /** Only dead letters whose fingerprint begins like this; an error if those of several groups do. */
  readonly fingerprint?: string;
  /** True: only dead letters added by hand. False: all except those. */
  readonly byHand?: boolean;
}

/** A filter in the form that `taskq.find_ids` takes. */
export interface TaskFilter
  extends Pick<
    ListFilter,
    'failed' | 'type' | 'queue' | 'tags' | 'reason' | 'key' | 'group' | 'workflow' | 'fingerprint'
  > {
  readonly status?: readonly string[];
  /** 0 to 9. */
  readonly priority?: number;
  /** ISO 8601, like `before`. */
  readonly since?: string;
  readonly before?: string;
  /** Values as text. */
  readonly payload?: Readonly<Record<string, string>>;
  readonly by_hand?: boolean;
  /** Only tasks of these queues: names in which `*` stands for any text. */
  readonly queues?: readonly string[];
}

export type FilterName = keyof ListFilter;

/** A command that takes filters: the statuses it applies to, and the filters it refuses, with the reason. */
export interface Filtered {
  readonly statuses: readonly TaskStatus[];
  readonly not: Readonly<Partial<Record<FilterName, string>>>;
}

const BY_HAND = 'only dead letters can be added by hand';
const FINGERPRINT = 'only dead letters have a fingerprint: taskq dead list';
const ONLY_DEAD = { byHand: BY_HAND, fingerprint: FINGERPRINT };
const FINISHED: Filtered = {
  statuses: ['completed', 'cancelled', 'expired'],
  not: { failed: 'tasks that failed for good are dead letters: taskq dead list', ...ONLY_DEAD },
};
const DEAD: Filtered = {
  statuses: ['dead'],
  not: { status: 'dead letters have no other status', failed: 'every dead letter counts as failed' },
};

const COUNTED = 'stats counts all tasks, by queue, status and type; taskq list takes filters';

/** The commands that take filters. */
export const FILTERED = {
  list: { statuses: TASK_STATUSES, not: {} },
  cancel: {
    statuses: ['blocked', 'pending', 'leased', 'running'],
    not: { reason: 'it records why tasks are cancelled, and does not filter', ...ONLY_DEAD },
  },
  retry: {
    statuses: ['blocked', 'pending'],
    not: {
      status: 'only waiting tasks can be retried; dead letters are revived, ended tasks rerun',
      reason: 'waiting tasks have no reason',
      ...ONLY_DEAD,
    },
  },
  edit: {
    statuses: ['blocked', 'pending'],
    not: {
      status: 'only waiting tasks can be edited; dead letters are revived, ended tasks rerun',
      reason: 'waiting tasks have no reason',
      ...ONLY_DEAD,
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
      ...{
        key: COUNTED,
        group: COUNTED,
        workflow: COUNTED,
        payload: COUNTED,
        priority: COUNTED,
        before: 'the period of stats ends now',
        byHand: COUNTED,
        fingerprint: COUNTED,
      },
    },
  },
} as const satisfies Readonly<Record<string, Filtered>>;

/** A verb that acts on all tasks that fit. */
export type BulkVerb = Exclude<keyof typeof FILTERED, 'list' | 'dead list' | 'stats'>;

/**
 * Check a filter and convert it to the stored form. Throws TaskqError (exit 2) for an invalid value and for a field
 * that makes no sense for this command; messages name a field by `called`.
 */
export function storedFilter(
  given: ListFilter,
  { statuses, not }: Filtered = FILTERED.list,
  called: (name: FilterName) => string = (name) => name,
): TaskFilter {
  const stored: TaskFilter[] = [];
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined) continue;
    if (!isFilterName(name)) throw badOption(`unknown filter "${name}"${didYouMean(name, FILTER_NAMES)}`);
    const why = not[name];
    if (why !== undefined) throw badOption(`${called(name)}: ${why}`);
    const read: (value: never, called: string, statuses: readonly TaskStatus[]) => TaskFilter = FIELDS[name];
    stored.push(read(value as never, called(name), statuses));
  }
  const implied: TaskFilter = given.fingerprint === undefined ? {} : { status: ['dead'] };
  const filter: TaskFilter = Object.assign(implied, ...stored);
  if (filter.since !== undefined && filter.before !== undefined && filter.since >= filter.before)
    throw badOption(`${called('before')} is not after ${called('since')}: no task can match`);
  return filter;
}

/**
 * The same for a verb that acts on all tasks that fit: limits it to the verb's own statuses and, unless the filter says
 * otherwise, spares dead letters added by hand.
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
  group: (group, called) => ({ group: checkedName('group', group, called) }),
  workflow: (workflow, called) => ({ workflow: checkedWorkflowId(workflow, called) }),
  priority: (priority, called) => ({ priority: parsePriority(priority, called) }),
  payload: (payload, called) => ({ payload: checkedValues(payload, called) }),
  since: (since, called) => ({ since: instantOf(since, called) }),
  before: (before, called) => ({ before: instantOf(before, called) }),
  byHand: (byHand) => ({ by_hand: byHand }),
  fingerprint: (fingerprint, called) => ({ fingerprint: checkedFingerprint(fingerprint, called) }),
};

/** In the order in which the documentation lists them. */
export const FILTER_NAMES = Object.keys(FIELDS) as FilterName[];

function isFilterName(name: string): name is FilterName {
  return Object.hasOwn(FIELDS, name);
}

/** Throws TaskqError `bad_option`. */
export function checkedFingerprint(fingerprint: string, called: string): string {
  if (/^[0-9a-f]{1,10}$/.test(fingerprint)) return fingerprint;
  throw badOption(
    `${called} ${JSON.stringify(fingerprint)}: expected the first digits of a fingerprint, such as f3a9`,
  );
}

/** Throws TaskqError `bad_option`. */
function checkedValues(
  given: NonNullable<ListFilter['payload']>,
  called: string,
): Readonly<Record<string, string>> {
  const entries = Object.entries(given);
  if (entries.length === 0)
    throw badOption(`${called}: expected a path and a value, such as order.id and 42`);
  for (const [path, value] of entries) {
    if (path.split('.').includes(''))
      throw badOption(`${called} ${shown(path)}: expected a path such as order.id`);
    if (!['string', 'number', 'boolean'].includes(typeof value))
      throw badOption(`${called} ${shown(path)}: expected a string, a number, true or false as its value`);
  }
  return Object.fromEntries(entries.map(([path, value]) => [path, String(value)]));
}

function checkedStatus(status: string, called: string, known: readonly TaskStatus[]): string {
  if (known.some((name) => name === status)) return status;
  throw badOption(
    `${called} ${JSON.stringify(status)}: expected one of ${known.join(', ')}${didYouMean(status, known)}`,
  );
}
