import { expect, test } from 'vitest';
import { type Session, useDatabase } from '../queue/session.ts';
import { outcome, registerWorker } from '../queue/worker.ts';

const queue = useDatabase();

/** Over three refills of the table; by hand 200,000. */
const TASKS = Number(process.env.TASKQ_HOT_TASKS ?? 12_000);
const REFILLS = 3;
const BATCH = 200;

interface Updates {
  readonly updates: number;
  readonly hot: number;
}

async function updates(session: Session): Promise<Updates> {
  await session.rows('select pg_stat_force_next_flush()');
  await session.rows('select pg_stat_clear_snapshot()');
  return (await session.row<Updates>(
    "select n_tup_upd::int as updates, n_tup_hot_upd::int as hot from pg_stat_user_tables where relid = 'taskq.tasks'::regclass",
  ))!;
}

async function refill(count: number, bytes: number): Promise<void> {
  const payload = { text: 'x'.repeat(bytes - 11) };
  for (let left = count; left > 0; left -= 5000) {
    const tasks = new Array(Math.min(left, 5000)).fill({ type: 'work', payload });
    await queue.admin.rows('select from taskq.enqueue_many($1)', JSON.stringify(tasks));
  }
}

test.each([20, 1000])(
  'with payloads of %i bytes nearly no claim and no heartbeat writes an index',
  async (bytes) => {
    await queue.admin.rows('vacuum taskq.tasks');
    const worker = await registerWorker(await queue.session());
    const { session } = worker;
    const before = await updates(session);
    for (let n = 0; n < REFILLS; n++) {
      await refill(Math.round(TASKS / REFILLS), bytes);
      for (;;) {
        // Nearly at its end, so that the heartbeat renews it.
        const claim = "select id, lease_no from taskq.claim($1, '{default}', '{work}', $2, $2, 1000)";
        const tasks = await session.rows<{ id: string; lease_no: number }>(claim, worker.id, BATCH / 2);
        if (tasks.length === 0) break;
        await worker.heartbeat(tasks.map((task) => ({ ...task, started_ms: 1 })));
        await worker.settle(...tasks.map((task) => outcome(task, 'completed')));
      }
      // What autovacuum does within its naptime.
      await queue.admin.rows('vacuum taskq.tasks');
    }
    const after = await updates(session);
    const made = after.updates - before.updates;
    const share = (after.hot - before.hot) / made;
    if (process.env.TASKQ_HOT_TASKS)
      process.stderr.write(`${bytes} bytes: ${made} updates, ${(100 * share).toFixed(2)} % heap-only\n`);
    expect(made).toBe(2 * REFILLS * Math.round(TASKS / REFILLS));
    expect(share).toBeGreaterThanOrEqual(0.95);
  },
);
