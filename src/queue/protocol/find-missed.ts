import type { Queryable } from '../../lib/database.ts';
import { type Cursor, flatten, type Position } from './claim.ts';

export interface MissedRequest {
  readonly queues: readonly string[];
  readonly types: readonly string[];
  readonly cursor: Cursor;
}

export interface MissedTask {
  readonly queue: string;
  readonly priority: number;
  readonly position: Position;
  /** The limit of the queue keeps it closed: a claim brings nothing now. */
  readonly isLimited: boolean;
}

export interface Missed {
  /** The first due task of a level, or ask of a group, at or before its cursor. */
  readonly first: readonly MissedTask[];
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
    extra: { limited?: true } | null;
  }>({
    name: 'taskq_find_missed',
    text: 'select queue, priority, available_at_us, id, extra from taskq.find_missed($1, $2, $3)',
    values: [queues, types, flatten(cursor, queues, null)],
  });
  return {
    first: rows.flatMap(({ queue, priority, available_at_us, id, extra }) => {
      if (queue === null) return [];
      const position = { availableAtUs: Number(available_at_us), id: Number(id) };
      return [{ queue, priority, position, isLimited: extra?.limited === true }];
    }),
    lookedToUs: Number(rows.find(({ queue }) => queue === null)!.available_at_us),
  };
}
