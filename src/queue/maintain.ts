import type { Queryable } from '../lib/database.ts';

/** What a page of the housekeeping has done. */
export interface Maintained {
  /** By what was done. */
  readonly counts: Readonly<Record<string, number>>;
  /** A page was full: there may be more to do. */
  readonly more: boolean;
  /** Partitions that history needs and that somebody has detached. */
  readonly detached: readonly string[];
  /** Tasks that have expired and that the database refuses to end. */
  readonly refused: readonly { readonly id: string; readonly error: string }[];
  /** What could not be done of partitions, and why; everything else was. */
  readonly failed: readonly string[];
}

/**
 * Begin the housekeeping; false: it is not due, some worker has begun within this time. Null: another transaction holds
 * the row by which workers take turns.
 */
export async function beginHousekeeping(db: Queryable, gapMs: number): Promise<boolean | null> {
  const rows = await db.query<{ due: boolean | null }>({
    text: 'select taskq.begin_housekeeping($1) as due',
    values: [gapMs],
  });
  return rows[0]!.due;
}

/** Do a page of the housekeeping. Undefined: another session is at it. */
export async function maintain(db: Queryable): Promise<Maintained | undefined> {
  const rows = await db.query<{ done: Record<string, number> & Partial<Omit<Maintained, 'counts'>> }>({
    text: 'select taskq.maintain() as done',
  });
  const { more, detached, refused, failed, ...counts } = rows[0]!.done;
  return more === undefined
    ? undefined
    : { counts, more, detached: detached ?? [], refused: refused ?? [], failed: failed ?? [] };
}

/** Make the partitions of history that are missing. Returns how many. */
export async function ensurePartitions(db: Queryable): Promise<number> {
  const rows = await db.query<{ made: number }>({ text: 'select taskq.ensure_partitions() as made' });
  return rows[0]!.made;
}
