import type { Lease } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';

export interface GivenBack extends Lease {
  /** Only a started task counts the give-back. */
  readonly started: boolean;
}

export interface GiveBackAnswer extends Lease {
  /** `lost`: the lease was no longer ours. `busy`: another transaction has the row locked; ask again. */
  readonly answer: 'recorded' | 'lost' | 'busy';
}

/** Give back tasks that this worker holds: they wait again at their old place, and no attempt is used. */
export async function giveBack(
  db: Queryable,
  workerId: number,
  tasks: readonly GivenBack[],
): Promise<GiveBackAnswer[]> {
  const rows = await db.query<{ id: string; lease_no: number; answer: GiveBackAnswer['answer'] }>({
    text: 'select id, lease_no, answer from taskq.give_back($1, $2, $3, $4)',
    values: [
      workerId,
      tasks.map((task) => task.id),
      tasks.map((task) => task.leaseNo),
      tasks.map((task) => task.started),
    ],
  });
  return rows.map((row) => ({ id: row.id, leaseNo: row.lease_no, answer: row.answer }));
}
