import type { Lease } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';

export interface GivenBack extends Lease {
  /** Only a started task counts the give-back. */
  readonly started: boolean;
}

export interface GiveBackAnswer extends Lease {
  /** `lost`: the lease was no longer ours. `busy`: another transaction has the row locked, or `refusal`; ask again. */
  readonly answer: 'recorded' | 'lost' | 'busy';
  /** What the give-back has ended it as: `dead` if it was the tenth; null: it waits again. */
  readonly status: 'cancelled' | 'dead' | null;
  /** Why the database refused to give this task back, for example by a trigger of the application; null: it did not. */
  readonly refusal: string | null;
}

/**
 * Give back tasks that this worker holds: they wait again at their old place, and no attempt is used. Some end instead,
 * cancelled or because they were given back too often.
 */
export async function giveBack(
  db: Queryable,
  workerId: number,
  tasks: readonly GivenBack[],
): Promise<GiveBackAnswer[]> {
  const rows = await db.query<Row>({
    text: 'select id, lease_no, answer, extra from taskq.give_back($1, $2, $3, $4)',
    values: [
      workerId,
      tasks.map((task) => task.id),
      tasks.map((task) => task.leaseNo),
      tasks.map((task) => task.started),
    ],
  });
  return rows.map(({ id, lease_no: leaseNo, answer, extra }) => ({
    ...{ id, leaseNo, answer },
    status: extra?.status ?? null,
    refusal: extra?.error === undefined ? null : `${extra.error} (SQLSTATE ${extra.code})`,
  }));
}

interface Row {
  readonly id: string;
  readonly lease_no: number;
  readonly answer: GiveBackAnswer['answer'];
  readonly extra: {
    readonly status?: 'cancelled' | 'dead';
    readonly error?: string;
    readonly code?: string;
  } | null;
}
