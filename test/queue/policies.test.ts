import { describe, expect, test } from 'vitest';
import { enqueue, finishedRow } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

/** Fails the only task until it is dead or `most` times, and returns the waits between in milliseconds. */
async function waitsOf(
  options: object,
  most = 6,
  types: Record<string, object> = { work: {} },
): Promise<number[]> {
  const worker = await registerWorker(queue.admin, types);
  const id = await enqueue(queue.admin, options);
  const waits: number[] = [];
  for (let n = 0; n < most; n++) {
    const task = await claimOne(worker);
    expect(task.id).toBe(id);
    const [answer] = await worker.settle(outcome(task, 'failed', { error: { message: `failure ${n + 1}` } }));
    if (answer!.extra!.status === 'dead') break;
    waits.push(answer!.extra!.retry_in_ms as number);
    await queue.admin.rows('update taskq.tasks set available_at = clock_timestamp()');
  }
  return waits;
}

describe('the back-off of each specification', () => {
  test('ten minutes, forever', async () => {
    const fixed = { kind: 'fixed', base_ms: 600_000 };
    const waits = await waitsOf({ backoff: fixed, max_attempts: 2_147_483_647 }, 30);
    expect(waits).toEqual(new Array(30).fill(600_000));
  });

  test('5, 20 and 45 seconds, growing with the square', async () => {
    const quadratic = { kind: 'quadratic', base_ms: 5000 };
    expect(await waitsOf({ backoff: quadratic, max_attempts: 4 })).toEqual([5000, 20_000, 45_000]);
    expect(await waitsOf({ backoff: quadratic, max_attempts: 3 })).toEqual([5000, 20_000]);
  });

  test('5, 10, 20 seconds over four attempts, doubling', async () => {
    const doubling = { kind: 'exponential', base_ms: 5000, factor: 2, jitter: 0 };
    expect(await waitsOf({ backoff: doubling, max_attempts: 4 })).toEqual([5000, 10_000, 20_000]);
  });

  test('by default it doubles from 5 seconds, strays by a fifth, and stays below an hour', async () => {
    const waits = await waitsOf({ max_attempts: 40 }, 39);
    for (const [n, wait] of waits.entries()) {
      const usual = Math.min(3_600_000, 5000 * 2 ** n);
      expect(wait).toBeGreaterThanOrEqual(0.8 * usual - 1);
      expect(wait).toBeLessThanOrEqual(Math.min(3_600_000, 1.2 * usual));
    }
    expect(waits.slice(0, 9).filter((wait, n) => wait !== 5000 * 2 ** n)).not.toEqual([]);
  });

  test('one attempt is no retry', async () => {
    expect(await waitsOf({ max_attempts: 1 })).toEqual([]);
  });
});

describe('what the task does not say its type says, then its queue, then the defaults', () => {
  const fixed = (base: number) => ({ kind: 'fixed', base_ms: base });
  const inQueue = (column: string, value: unknown) =>
    queue.admin.rows(`insert into taskq.queues (name, ${column}) values ('default', $1)`, value);
  const byDefault = (column: string, value: unknown) =>
    queue.admin.rows(`update taskq.defaults set ${column} = $1`, value);

  test('of the back-off', async () => {
    await byDefault('backoff', fixed(1));
    expect(await waitsOf({}, 1)).toEqual([1]);
    await inQueue('backoff', fixed(2));
    await queue.admin.rows('delete from taskq.tasks');
    expect(await waitsOf({}, 1)).toEqual([2]);
    await queue.admin.rows('delete from taskq.tasks');
    expect(await waitsOf({}, 1, { work: { backoff: fixed(3) } })).toEqual([3]);
    await queue.admin.rows('delete from taskq.tasks');
    expect(await waitsOf({ backoff: fixed(4) }, 1, { work: { backoff: fixed(3) } })).toEqual([4]);
  });

  test('of the number of attempts', async () => {
    expect((await waitsOf({})).length + 1).toBe(3);
    await byDefault('max_attempts', 2);
    expect((await waitsOf({})).length + 1).toBe(2);
    await inQueue('max_attempts', 4);
    expect((await waitsOf({})).length + 1).toBe(4);
    expect((await waitsOf({}, 9, { work: { max_attempts: 5 } })).length + 1).toBe(5);
    expect((await waitsOf({ max_attempts: 1 }, 9, { work: { max_attempts: 5 } })).length + 1).toBe(1);
  });

  test('of the retention', async () => {
    const keptFor = async (options: object, types: Record<string, object> = { work: {} }) => {
      const worker = await registerWorker(queue.admin, types);
      const id = await enqueue(queue.admin, options);
      await worker.settle(outcome(await claimOne(worker), 'completed'));
      if ((await finishedRow(queue.admin, id)) === undefined) return undefined;
      const days =
        "select drop_on - (finished_at at time zone 'UTC')::date from taskq.finished_tasks where id = $1";
      return queue.admin.value<number>(days, id);
    };
    expect(await keptFor({})).toBe(7);
    await byDefault('retention', '3d');
    expect(await keptFor({})).toBe(3);
    await inQueue('retention', '4d');
    expect(await keptFor({})).toBe(4);
    expect(await keptFor({}, { work: { retention: '5d' } })).toBe(5);
    expect(await keptFor({ retention: 'none' }, { work: { retention: '5d' } })).toBeUndefined();
  });

  test("of the time an attempt may take: the claim brings the task's, the context the rest", async () => {
    await registerWorker(queue.admin, { work: { timeout_ms: 1000 }, other: {}, unasked: { timeout_ms: 3 } });
    await inQueue('timeout_ms', 2000);
    await byDefault('timeout_ms', 3000);
    await enqueue(queue.admin, { queue: 'b' });
    await enqueue(queue.admin, { queue: 'a' });
    expect(await queue.admin.value("select taskq.claim_context('{work,other}')")).toEqual({
      queues: ['a', 'b'],
      type_timeouts: { work: 1000 },
      queue_timeouts: { default: 2000 },
      timeout_ms: 3000,
      ...{ always_logged: [], breakers: {}, holding_queues: [] },
    });
  });

  test('a worker that registers a type anew replaces what it said before', async () => {
    await registerWorker(queue.admin, {
      work: { max_attempts: 9, retention: 'ever', backoff: fixed(1), timeout_ms: 1 },
    });
    await registerWorker(queue.admin, { work: {} });
    expect(
      await queue.admin.row('select max_attempts, retention, backoff, timeout_ms from taskq.task_types'),
    ).toEqual({
      max_attempts: null,
      retention: null,
      backoff: null,
      timeout_ms: null,
    });
    expect(await queue.admin.rows('select * from taskq.known_types() as name')).toEqual([{ name: 'work' }]);
  });
});

describe('retention', () => {
  async function finish(options: object, kind = 'completed'): Promise<string> {
    const worker = await registerWorker(queue.admin);
    const id = await enqueue(queue.admin, options);
    await worker.settle(outcome(await claimOne(worker), kind));
    return id;
  }

  /** Where it lies when housekeeping has come by. */
  async function partitionOf(id: string): Promise<string> {
    await queue.admin.rows('select taskq.maintain()');
    return queue.admin.value(
      'select c.relname from taskq.finished_tasks f join pg_class c on c.oid = f.tableoid where f.id = $1',
      id,
    );
  }

  const day = (days: number) =>
    queue.admin.value<string>(
      "select to_char((clock_timestamp() at time zone 'UTC')::date + $1::int, 'YYYYMMDD')",
      days,
    );

  test.each(['completed', 'cancelled'])('none leaves no row of what was %s', async (kind) => {
    const id = await finish({ retention: 'none' }, kind);
    expect(await finishedRow(queue.admin, id)).toBeUndefined();
    expect(await queue.admin.value('select count(*)::int from taskq.all_tasks')).toBe(0);
  });

  test.each(['completed', 'cancelled'])('a waiter keeps the row of a task that was %s', async (kind) => {
    const id = await finish({ retention: 'none', notify_done: true }, kind);
    expect(await partitionOf(id)).toBe(`finished_tasks_${await day(1)}`);
  });

  test.each([1, 7, 60])('of %i days lies in the partition of that day', async (days) => {
    expect(await partitionOf(await finish({ retention: `${days}d` }))).toBe(
      `finished_tasks_${await day(days)}`,
    );
  });

  test.each([61, 400, 730, 99_999])(
    'of %i days lies in the partition of the first of the month after',
    async (days) => {
      const partition = await partitionOf(await finish({ retention: `${days}d` }));
      const first =
        "select to_char(date_trunc('month', (clock_timestamp() at time zone 'UTC') + make_interval(days => $1 - 1)) + interval '1 month', 'YYYYMMDD')";
      expect(partition).toBe(`finished_tasks_${await queue.admin.value(first, days)}`);
    },
  );

  test('that never ends lies in the partition that is never dropped', async () => {
    expect(await partitionOf(await finish({ retention: 'ever' }))).toBe('finished_tasks_ever');
  });

  test("of errors is the queue's, else the default of 30 days, and none keeps none", async () => {
    await queue.admin.rows(
      "insert into taskq.queues (name, errors_retention) values ('none', 'none'), ('ever', 'ever')",
    );
    const worker = await registerWorker(queue.admin);
    for (const name of ['default', 'none', 'ever']) {
      await enqueue(queue.admin, { queue: name });
      await worker.settle(outcome(await claimOne(worker, { queues: [name] }), 'failed', { error: {} }));
    }
    await queue.admin.rows('select taskq.maintain()');
    expect(
      await queue.admin.rows(
        'select e.queue, c.relname as partition from taskq.task_errors e join pg_class c on c.oid = e.tableoid order by e.queue',
      ),
    ).toEqual([
      { queue: 'default', partition: `task_errors_${await day(30)}` },
      { queue: 'ever', partition: 'task_errors_ever' },
    ]);
  });
});
