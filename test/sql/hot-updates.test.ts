import { expect, test } from 'vitest';
import { type Session, useDatabase } from '../queue/session.ts';
import { type Lease, outcome, registerWorker } from '../queue/worker.ts';

const queue = useDatabase();

/** Over three refills of the table; by hand 200,000, which autovacuum comes after by itself. */
const TASKS = Number(process.env.TASKQ_HOT_TASKS ?? 12_000);
const IS_BY_HAND = process.env.TASKQ_HOT_TASKS !== undefined;
const REFILLS = 3;
const BATCH = 200;

interface Updates {
  readonly made: number;
  /** Those that wrote no index. */
  readonly hot: number;
}

/** How many updates of tasks this session, and those before it, have made. */
async function countUpdates(session: Session): Promise<Updates> {
  await session.rows('select pg_stat_force_next_flush()');
  await session.rows('select pg_stat_clear_snapshot()');
  const counts = `select n_tup_upd::int as made, n_tup_hot_upd::int as hot
    from pg_stat_user_tables where relid = 'taskq.tasks'::regclass`;
  return (await session.row<Updates>(counts))!;
}

function between(before: Updates, after: Updates, sum: Updates): Updates {
  return { made: sum.made + after.made - before.made, hot: sum.hot + after.hot - before.hot };
}

async function refill(count: number, bytes: number): Promise<void> {
  const payload = { text: 'x'.repeat(bytes - 11) };
  for (let left = count; left > 0; left -= 5000) {
    const tasks = new Array(Math.min(left, 5000)).fill({ type: 'work', payload });
    await queue.admin.rows('select from taskq.enqueue_many($1)', JSON.stringify(tasks));
  }
}

test.each([20, 300, 1000])(
  'with payloads of %i bytes nearly no claim writes an index, heartbeats in between',
  async (bytes) => {
    const worker = await registerWorker(await queue.session());
    let claims: Updates = { made: 0, hot: 0 };
    let heartbeats: Updates = { made: 0, hot: 0 };
    for (let n = 0; n < REFILLS; n++) {
      await refill(Math.round(TASKS / REFILLS), bytes);
      for (;;) {
        const before = await countUpdates(worker.session);
        // A lease that is nearly over, so that the heartbeat writes every row.
        const claim = "select id, lease_no from taskq.claim($1, '{default}', '{work}', $2, $2, 1000)";
        const tasks = await worker.session.rows<Lease>(claim, worker.id, BATCH / 2);
        if (tasks.length === 0) break;
        const claimed = await countUpdates(worker.session);
        await worker.heartbeat(tasks.map((task) => ({ ...task, started_ms: 1 })));
        const renewed = await countUpdates(worker.session);
        await worker.settle(...tasks.map((task) => outcome(task, 'completed')));
        claims = between(before, claimed, claims);
        heartbeats = between(claimed, renewed, heartbeats);
      }
      // What autovacuum does within its naptime.
      if (!IS_BY_HAND) await queue.admin.rows('vacuum taskq.tasks');
    }
    const share = ({ made, hot }: Updates) => hot / made;
    if (IS_BY_HAND) {
      const parts = [claims, heartbeats].map(
        (of) => `${of.made} (${(100 * share(of)).toFixed(2)} % heap-only)`,
      );
      process.stderr.write(`${bytes} bytes: claims ${parts[0]}, heartbeats ${parts[1]}\n`);
    }
    expect(claims.made).toBe(heartbeats.made);
    expect(claims.made).toBeGreaterThan(0.99 * TASKS);
    expect(share(claims)).toBeGreaterThanOrEqual(0.95);
  },
  IS_BY_HAND ? 3_600_000 : undefined,
);
