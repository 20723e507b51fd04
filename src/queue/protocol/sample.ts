import type { Queryable } from '../../lib/database.ts';

/** Begin to fold and to sample if that is due and the row by which workers take turns is free. */
export async function beginSample(db: Queryable): Promise<boolean> {
  const rows = await db.query<{ due: boolean | null }>({ text: 'select taskq.begin_sample() as due' });
  return rows[0]!.due === true;
}

/** Add at most a page of counts to the metrics. Returns whether there may be more. */
export async function foldCounts(db: Queryable): Promise<boolean> {
  const rows = await db.query<{ folded: number | null }>({
    text: 'select taskq.fold_counts($1) as folded',
    values: [PAGE],
  });
  return rows[0]!.folded === PAGE;
}

/** Count the live and dead tasks, unless counting took so long that it must wait. Returns whether it has counted. */
export async function takeSample(db: Queryable): Promise<boolean> {
  const rows = await db.query<{ taken: boolean }>({ text: 'select taskq.take_sample() as taken' });
  return rows[0]!.taken;
}

/** Rows of one transaction: about a third of a second. */
const PAGE = 50_000;
