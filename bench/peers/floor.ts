import pg from 'pg';
import type { Payload } from '../lib/payload.ts';
import type { Peer } from './peer.ts';
import { TYPE, taskq } from './taskq.ts';

/** The size of graphile-worker's local queue. */
const BATCH = 500;

interface ClaimRow {
  readonly id: string;
  readonly lease_no: number;
  readonly priority: number;
  readonly available_at_us: string;
  readonly payload: Payload;
}

/** taskq's claim and settle functions in a bare loop over `pg`: the limit for any daemon. */
export const floor: Peer = {
  ...taskq,
  async prepare(order, run) {
    const client = new pg.Client({ connectionString: order.address });
    return () => {
      let stopping = false;
      const loop = async () => {
        await client.connect();
        const worker = await register(client, order.history);
        const cursor = new Array<string | null>(20).fill(null);
        while (!stopping) {
          const tasks = await claim(client, worker, cursor);
          for (const { payload } of tasks) run(payload, 1);
          if (tasks.length > 0) await settle(client, worker, tasks);
        }
        await client.end();
      };
      const looping = loop();
      return {
        async stop() {
          stopping = true;
          await looping;
        },
      };
    };
  },
};

async function register(client: pg.Client, history: boolean): Promise<number> {
  const about = {
    host: 'bench',
    pid: process.pid,
    unique_part: String(process.pid),
    version: 'bench',
    concurrency: BATCH,
    lease_ms: 30_000,
    types: { [TYPE]: history ? {} : { retention: 'none' } },
    queues: null,
    paused: false,
  };
  const { rows } = await client.query<{ worker_id: number }>(
    'select worker_id from taskq.register_worker($1)',
    [about],
  );
  return rows[0]!.worker_id;
}

/** Keeps a cursor as the daemon does, so that it walks no row twice; starts over when it finds nothing. */
async function claim(client: pg.Client, worker: number, cursor: (string | null)[]): Promise<ClaimRow[]> {
  const { rows } = await client.query<ClaimRow>({
    name: 'claim',
    text: 'select * from taskq.claim($1, $2, $3, 0, $4, 30000, $5, null)',
    values: [worker, ['default'], [TYPE], BATCH, cursor],
  });
  if (rows.length === 0) cursor.fill(null);
  for (const { id, priority, available_at_us } of rows) {
    const at = cursor[2 * priority];
    const isLater = at === null || at === undefined || Number(available_at_us) > Number(at);
    if (isLater || (available_at_us === at && Number(id) > Number(cursor[2 * priority + 1]))) {
      cursor[2 * priority] = available_at_us;
      cursor[2 * priority + 1] = id;
    }
  }
  return rows;
}

/** Like the daemon on success: ask again for rows that another transaction has locked for a moment. */
async function settle(client: pg.Client, worker: number, tasks: readonly ClaimRow[]): Promise<void> {
  for (let left = tasks; left.length > 0; ) {
    const { rows } = await client.query<{ id: string; answer: string }>({
      name: 'complete',
      text: 'select id, answer from taskq.complete($1, $2, $3, $4)',
      values: [worker, left.map(({ id }) => id), left.map(({ lease_no }) => lease_no), left.map(() => 0)],
    });
    const busy = new Set(rows.filter(({ answer }) => answer === 'busy').map(({ id }) => id));
    left = left.filter(({ id }) => busy.has(id));
  }
}
