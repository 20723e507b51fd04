import { checkedName } from '../domain/names.ts';
import type { Queryable } from '../lib/database.ts';
import { type ListedKey, listKeys } from '../queue/operate/keys.ts';

/** Which keys: every field that is given must fit. */
export interface KeyFilter {
  /** In this queue. */
  readonly queue?: string;
  /** Only this key. */
  readonly key?: string;
}

/** A key that is held for a period or for ever, whatever becomes of its task. */
export interface KeyRecord {
  /** The queue that it is of. */
  readonly queue: string;
  /** The key itself. */
  readonly key: string;
  /** The task that took it. */
  readonly taskId: string;
  /** Status of that task; null if it has been deleted. */
  readonly status: string | null;
  /** Null: for ever. */
  readonly until: Date | null;
}

const PAGE = 100;

/** The keys that fit, by queue and key, read a page at a time; `ask` runs what needs the database. */
export async function* keyRecords(
  ask: <T>(work: (db: Queryable) => Promise<T>) => Promise<T>,
  { queue, key }: KeyFilter,
): AsyncGenerator<KeyRecord, void, undefined> {
  const filter = {
    ...(queue !== undefined && { queue: checkedName('queue', queue) }),
    ...(key !== undefined && { key: checkedName('key', key) }),
  };
  for (let last: ListedKey | undefined; ; ) {
    const after = last;
    const keys = await ask((db) => listKeys(db, filter, PAGE, after));
    yield* keys.map(recordOf);
    last = keys.at(-1);
    if (last === undefined || keys.length < PAGE) return;
  }
}

function recordOf({ queue, key, task_id: taskId, status, until }: ListedKey): KeyRecord {
  return { queue, key, taskId, status, until: until === null ? null : new Date(until) };
}
