import type { ResultNote } from '../../domain/storable-result.ts';
import type { TaskStatus } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';

/** How a parent of a step has ended. */
export interface ParentRow {
  readonly step: string;
  readonly status: TaskStatus | 'gone';
  readonly result: unknown;
  /** What remains of a result that could not be stored. */
  readonly result_note: ResultNote | null;
}

/** Which parents to read. */
export interface ParentsQuery {
  /** These alone. */
  readonly steps?: readonly string[];
  /** Stop before the results are longer than this, as JSON text, but after one parent at least. */
  readonly maxBytes: number;
  /** Continue where the previous page stopped. */
  readonly after?: string;
}

export interface ParentsPage {
  /** In the order of their tasks. */
  readonly rows: readonly ParentRow[];
  /** There are more after this place; null: none. */
  readonly after: string | null;
}

interface Row extends Omit<ParentRow, 'step'> {
  readonly step: string | null;
  readonly extra: { readonly after_id: string } | null;
}

/** Get the parents of a task's step, or the first of them. None: it is no step, or has none. */
export async function getParents(db: Queryable, id: string, query: ParentsQuery): Promise<ParentsPage> {
  const { steps, maxBytes, after } = query;
  const rows = await db.query<Row>({
    text: 'select step, status, result, result_note, extra from taskq.get_parents($1, $2)',
    values: [id, JSON.stringify({ parents: steps, max_bytes: maxBytes, after_id: after })],
  });
  const parents = rows.flatMap(({ extra, step, ...row }) => (step === null ? [] : [{ step, ...row }]));
  return { rows: parents, after: rows.at(-1)?.extra?.after_id ?? null };
}
