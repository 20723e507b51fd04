import type { Queryable } from '../../lib/database.ts';
import type { Holder } from './rescue.ts';

/** What one page of housekeeping did. */
export interface Maintained {
  /** The count of each action. */
  readonly counts: Readonly<Record<string, number>>;
  /** A page was full: there may be more to do. */
  readonly more: boolean;
  /** Partitions that history needs but that are detached. */
  readonly detached: readonly string[];
  /** Expired tasks that the database refuses to end, and dead letters that it refuses to delete. */
  readonly refused: readonly { readonly id: string; readonly error: string }[];
  /** The parts that failed, with the reason; all others were done. */
  readonly failed: readonly string[];
}

export interface Turn {
  /** False: a worker has begun within this time. */
  readonly isDue: boolean;
  /** The transaction that holds the row by which workers take turns. Undefined: the row was free. */
  readonly heldBy?: Holder;
}

/** Begin the housekeeping if it is due and the row by which workers take turns is free. */
export async function beginHousekeeping(db: Queryable, gapMs: number): Promise<Turn> {
  const rows = await db.query<{ due: boolean | null; extra: { held: { by: Holder } } | null }>({
    text: 'select due, extra from taskq.begin_housekeeping($1)',
    values: [gapMs],
  });
  const { due, extra } = rows[0]!;
  return extra === null ? { isDue: due === true } : { isDue: false, heldBy: extra.held.by };
}

/** Do one page of the housekeeping. Undefined: another session is doing it. */
export async function maintain(db: Queryable): Promise<Maintained | undefined> {
  const rows = await db.query<{ done: Record<string, number> & Partial<Omit<Maintained, 'counts'>> }>({
    text: 'select taskq.maintain() as done',
  });
  const { more, detached, refused, failed, ...counts } = rows[0]!.done;
  return more === undefined
    ? undefined
    : { counts, more, detached: detached ?? [], refused: refused ?? [], failed: failed ?? [] };
}

/** Make the missing partitions of history. Returns how many it made. */
export async function ensurePartitions(db: Queryable): Promise<number> {
  const rows = await db.query<{ made: number }>({ text: 'select taskq.ensure_partitions() as made' });
  return rows[0]!.made;
}
