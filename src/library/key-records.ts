import { checkedName } from '../domain/names.ts';
import type { Queryable } from '../lib/database.ts';
import { type ListedKey, listKeys } from '../queue/operate/keys.ts';
import { known } from './known-options.ts';

/** Filters keys: every field given must match. */
export interface KeyFilter {
  /** In this queue. */
  readonly queue?: string;
  /** Only this key. */
  readonly key?: string;
}

/** A key held for a period or forever, even after its task has ended. */
export interface KeyRecord {
  /** Its queue. */
  readonly queue: string;
  /** The key itself. */
  readonly key: string;
  /** The task that took it. */
  readonly taskId: string;
  /** Status of that task; null if it has been deleted. */
  readonly status: string | null;
  /** When it becomes free; null: never. */
  readonly until: Date | null;
}

const PAGE = 100;

/** Yields the keys that match, by queue and key, reading a page at a time; `ask` runs work that needs the database. */
export async function* keyRecords(
  ask: <T>(work: (db: Queryable) => Promise<T>) => Promise<T>,
  given: KeyFilter,
): AsyncGenerator<KeyRecord, void, undefined> {
  const { queue, key } = known(given, { queue: true, key: true });
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
