import type { Queryable } from '../../lib/database.ts';
import { type Cursor, flatten, type Position } from './claim.ts';

export interface MissedRequest {
  readonly queues: readonly string[];
  readonly types: readonly string[];
  readonly cursor: Cursor;
}

export interface Missed {
  /** The first due task of a level, or ask of a group, at or before its cursor. */
  readonly first: readonly {
    readonly queue: string;
    readonly priority: number;
    readonly position: Position;
  }[];
  /** Levels without a cursor were read up to this time. */
  readonly lookedToUs: number;
}

/** Look in every level for a due task that claims have passed. A claim from that position on takes it. */
export async function findMissed(db: Queryable, request: MissedRequest): Promise<Missed> {
  const { queues, types, cursor } = request;
  const rows = await db.query<{
    queue: string | null;
    priority: number;
    available_at_us: string;
    id: string;
  }>({
    name: 'taskq_find_missed',
    text: 'select queue, priority, available_at_us, id from taskq.find_missed($1, $2, $3)',
    values: [queues, types, flatten(cursor, queues, null)],
  });
  return {
    first: rows.flatMap(({ queue, priority, available_at_us, id }) =>
      queue === null
        ? []
        : [{ queue, priority, position: { availableAtUs: Number(available_at_us), id: Number(id) } }],
    ),
    lookedToUs: Number(rows.find(({ queue }) => queue === null)!.available_at_us),
  };
}
