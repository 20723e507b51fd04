import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { withClient } from '../lib/client.ts';
import { clockMs } from '../lib/clock.ts';
import type { Payload } from '../lib/payload.ts';
import type { Bench, Scenario } from '../lib/scenario.ts';
import { percentile } from '../lib/statistics.ts';
import { startWorkers, type Workers } from '../lib/workers.ts';
import { TYPE } from '../peers/taskq.ts';

/** How long a task holds the place that another waits for: longer than all that is timed. */
const HOLD_MS = 3000;

/** What keeps a task waiting, and the statement that ends it. The task is in group `g`. */
interface Change {
  readonly what: string;
  readonly before: string;
  /** Runs first: it takes the only place or token, or opens the breaker. */
  readonly first?: Partial<Payload>;
  readonly after: string;
}

const FAILS = 10;
const HOLDS = { sleepMs: HOLD_MS };

export const CHANGES: readonly Change[] = [
  {
    what: 'resume a queue',
    before: `select taskq.pause_queue('default')`,
    after: `select taskq.resume_queue('default')`,
  },
  {
    what: 'raise --max-running',
    before: `select taskq.set_queue('default', '{"max_running": 1}')`,
    first: HOLDS,
    after: `select taskq.set_queue('default', '{"max_running": 2}')`,
  },
  {
    what: 'raise --rate',
    before: `select taskq.set_queue('default', '{"rate": "1/1h"}')`,
    first: {},
    after: `select taskq.set_queue('default', '{"rate": "1000/1s"}')`,
  },
  {
    what: 'resume a group',
    before: `select taskq.pause_group('default', 'g')`,
    after: `select taskq.resume_group('default', 'g')`,
  },
  {
    what: 'raise the limit of a group',
    before: `select taskq.set_group('default', 'g', '{"limit": 1}')`,
    first: HOLDS,
    after: `select taskq.set_group('default', 'g', '{"limit": 2}')`,
  },
  {
    what: 'raise the rate of a group',
    before: `select taskq.set_group('default', 'g', '{"rate": "1/1h"}')`,
    first: {},
    after: `select taskq.set_group('default', 'g', '{"rate": "1000/1s"}')`,
  },
  {
    what: 'resume a type whose breaker is open',
    before: `select taskq.set_type('${TYPE}', '{"breaker": {"failures": 1, "within_ms": 60000, "probe_after_ms": "none"}}')`,
    first: { n: FAILS },
    after: `select taskq.resume_type('${TYPE}')`,
  },
];

export const changes: Scenario = {
  name: 'changes',
  title: 'from a change of a limit to the start of a task that waited for it; 8 slots, one process',
  async run(bench) {
    for (const change of CHANGES) {
      bench.progress(change.what);
      const times: number[] = [];
      for (let turn = 0; turn < (bench.quick ? 1 : 5) * bench.rounds; turn++)
        times.push(await timed(bench, change));
      bench.note(`${change.what}, p50`, 'taskq', percentile(times, 50)!, 'ms');
      bench.note(`${change.what}, the longest`, 'taskq', Math.max(...times), 'ms');
    }
  },
};

/** How long after the change the task starts, in an empty store. */
async function timed(bench: Bench, { what, before, first, after }: Change): Promise<number> {
  const address = await bench.openStore('taskq');
  const handler = { kind: 'flaky' } as const;
  const order = { system: 'taskq', address, tuning: 'defaults', handler, history: true } as const;
  const workers = await startWorkers(bench.undo, order, 1);
  const startedAfter = await withClient(address, async (client) => {
    await client.query(before);
    workers.go();
    if (first !== undefined) await addFirst(client, first);
    await add(client, { n: 1 });
    // The worker has found what it cannot start, and rests.
    await sleep(500);
    if (workers.starts.has(1)) throw new Error(`${what}: the task did not wait`);
    const changedAt = clockMs();
    await client.query(after);
    return (await startOf(workers, 1)) - changedAt;
  });
  await workers.stop();
  await bench.releaseStore('taskq', address);
  return startedAfter;
}

/** Add the task that is to run first, and wait until it runs if it is to hold a place, else until it has ended. */
async function addFirst(client: pg.Client, payload: Partial<Payload>): Promise<void> {
  await add(client, { n: 2, ...payload });
  const isLate = payload.sleepMs === undefined ? 'true' : 'lease_owner is null';
  for (;;) {
    const { rowCount } = await client.query(`select from taskq.tasks where ${isLate}`);
    if (rowCount === 0) return;
    await sleep(10);
  }
}

function add(client: pg.Client, payload: Payload): Promise<unknown> {
  const options = { group: 'g', max_attempts: 1, allow_unknown: [TYPE] };
  return client.query('select taskq.enqueue($1, $2, $3)', [TYPE, payload, options]);
}

async function startOf(workers: Workers, n: number): Promise<number> {
  const end = clockMs() + 60_000;
  while (clockMs() < end) {
    const at = workers.starts.get(n);
    if (at !== undefined) return at;
    await sleep(5);
  }
  return Infinity;
}
