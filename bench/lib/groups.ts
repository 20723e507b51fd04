import pg from 'pg';
import type { StoreAddress } from '../peers/peer.ts';
import { TYPE } from '../peers/taskq.ts';
import { withClient } from './client.ts';
import { batches, payloadOf, SMALL } from './payload.ts';
import { TaskQueue } from './product.ts';

const BATCH = 5000;

/** Add `count` tasks, numbered from `from` on, to taskq: each in the group that `groupOf` returns, in turn. */
export async function fillGroups(
  address: StoreAddress,
  count: number,
  groupOf: (n: number) => string,
  from = 0,
): Promise<void> {
  const pool = new pg.Pool({ connectionString: address, max: 1, idleTimeoutMillis: 0 });
  const queue = new TaskQueue({ pool });
  try {
    for (const batch of batches(count, BATCH, from)) {
      const tasks = batch.map((n) => ({ type: TYPE, payload: payloadOf(n, SMALL), group: groupOf(n) }));
      await queue.enqueueMany(tasks, { allowUnknown: true });
    }
  } finally {
    await queue.close();
    await pool.end();
  }
}

/** Let each group of the queue run at most `limit` tasks at once. */
export function limitGroups(address: StoreAddress, limit: number): Promise<unknown> {
  return withClient(address, (client) =>
    client.query(`select taskq.set_queue('default', $1)`, [{ group_limit: limit }]),
  );
}
