import type { ClaimedTask } from '../../domain/task.ts';
import type { Queryable } from '../../lib/database.ts';
import { CLAIMED, type ClaimRow, taskOf } from './claim.ts';

/** Claim one task by id, to run at once. Undefined: it does not wait, is not due, or is claimed already. */
export async function claimOne(
  db: Queryable,
  id: string,
  { workerId, leaseMs }: { readonly workerId: number; readonly leaseMs: number },
): Promise<ClaimedTask | undefined> {
  const rows = await db.query<ClaimRow>({
    text: `select ${CLAIMED} from taskq.claim_one($1, $2, $3)`,
    values: [workerId, id, leaseMs],
  });
  return rows[0] && taskOf(rows[0]);
}
