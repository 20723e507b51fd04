import { badOption } from '../lib/bad-option.ts';
import { toPositiveMs } from '../lib/duration.ts';
import { normaliseBackoff } from './backoff.ts';
import { normaliseBreaker } from './breaker.ts';
import { parseCallback } from './callback.ts';
import { maxAttemptsOf } from './enqueue-options.ts';
import { parseGroupBy, parseGroupLimit, parseGroupOnDead, parseGroupOrder } from './group-settings.ts';
import { parseIsRecorded } from './is-recorded.ts';
import { parseKeepLog } from './keep-log.ts';
import { parseMayEnqueue } from './may-enqueue.ts';
import { checkedName } from './names.ts';
import { parseOnFailure } from './on-failure.ts';
import { parsePriority } from './priority.ts';
import { parseBurst, parseRate } from './queue-limits.ts';
import { parseRetention, type Retention } from './retention.ts';

/** Settings by name, in the order in which people read them. */
export type SettingTable = Readonly<Record<string, TaskSetting<string, unknown>>>;

/** A setting: the column that stores it, and the check that converts a value as users write it. */
export interface TaskSetting<Column extends string, Value> {
  readonly column: Column;
  /** Throws TaskqError, which calls the value `what`. */
  readonly parse: (value: unknown, what: string) => Value;
}

/** The columns of settings, with their values as stored. */
export type StoredSettings<Table extends SettingTable> = {
  readonly [Name in keyof Table as Table[Name]['column']]?: ReturnType<Table[Name]['parse']>;
};

/** Settings to change, by column; null: remove it, absent: leave it as it is. */
export type StoredChanges<Table extends SettingTable> = {
  readonly [Name in keyof Table as Table[Name]['column']]?: ReturnType<Table[Name]['parse']> | null;
};

const maxAttempts = setting('max_attempts', maxAttemptsOf);
const timeout = setting('timeout_ms', toPositiveMs);
const expires = setting('expires_ms', toPositiveMs);
const backoff = setting('backoff', normaliseBackoff);
const retention = setting('retention', parseRetention);
const errorsRetention = setting('errors_retention', parseRetention);
const onFailure = setting('on_failure', parseOnFailure);
const deadRetention = setting('dead_retention', deadRetentionOf);

/** Settings for all tasks. */
export const DEFAULT_SETTINGS = {
  maxAttempts,
  timeout,
  expires,
  backoff,
  retention,
  errorsRetention,
  deadRetention,
};

/** Settings for the tasks of a type. */
export const TYPE_SETTINGS = {
  maxAttempts,
  timeout,
  expires,
  backoff,
  retention,
  queue: setting('queue', (value, what) => checkedName('queue', value, what)),
  priority: setting('priority', parsePriority),
  breaker: setting('breaker', normaliseBreaker),
  keepLog: setting('keep_log', parseKeepLog),
  onFailure,
  onComplete: setting('on_complete', parseCallback),
  onDead: setting('on_dead', parseCallback),
};

/** Settings for the tasks of a queue. */
export const QUEUE_SETTINGS = {
  retention,
  deadRetention,
  errorsRetention,
  expires,
  maxAttempts,
  timeout,
  backoff,
  groupLimit: setting('group_limit', parseGroupLimit),
  groupRate: setting('group_rate', parseRate),
  groupBurst: setting('group_burst', parseBurst),
  groupOrder: setting('group_order', parseGroupOrder),
  groupOnDead: setting('group_on_dead', parseGroupOnDead),
  groupBy: setting('group_by', parseGroupBy),
  maxRunning: setting('max_running', parseGroupLimit),
  rate: setting('rate', parseRate),
  burst: setting('burst', parseBurst),
  mayEnqueue: setting('may_enqueue', parseMayEnqueue),
  onFailure,
  maxLosses: setting('max_losses', maxAttemptsOf),
  recordLeases: setting('record_leases', parseIsRecorded),
  recordEvents: setting('record_events', parseIsRecorded),
};

/** Settings of a group of a queue. */
export const GROUP_SETTINGS = {
  limit: setting('limit', parseGroupLimit),
  rate: setting('rate', parseRate),
  burst: setting('burst', parseBurst),
};

/** Converts settings, which have been checked for unknown ones, to columns. Null counts as absent. Throws TaskqError. */
export function storedSettings<Table extends SettingTable>(
  table: Table,
  settings: { readonly [Name in keyof Table]?: unknown },
): StoredSettings<Table> {
  const given = Object.entries(settings).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(
    given.map(([name, value]) => [table[name]!.column, table[name]!.parse(value, name)]),
  ) as StoredSettings<Table>;
}

function setting<Column extends string, Value>(
  column: Column,
  parse: (value: unknown, what: string) => Value,
): TaskSetting<Column, Value> {
  return { column, parse };
}

/** Refuses `none`: a dead letter must stay until someone can decide on it. */
function deadRetentionOf(value: unknown, what: string): Retention {
  const period = parseRetention(value, what);
  if (period === 'none') throw badOption(`${what} "none": expected ever, or whole days such as 90d`);
  return period;
}
