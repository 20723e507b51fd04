import { describe, expect, test } from 'vitest';
import { showTask } from '../../src/queue/inspect/show-task.ts';
import { enqueue, lapse, rescueAll, silence } from './rows.ts';
import { useDatabase } from './session.ts';
import { claimOne, LEASE_MS, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

test('everything is shown, with every attempt and who made it', async () => {
  const id = await enqueue(queue.admin, { priority: 1 }, { n: 1 });
  const worker = await registerWorker(queue.admin);
  const failed = await claimOne(worker);
  await worker.settle(outcome(failed, 'failed', { error: { message: 'one' }, delay_ms: 0, ran_ms: 5 }));
  const lost = await claimOne(worker);
  await silence(queue.admin, worker.id, 2 * LEASE_MS);
  await lapse(queue.admin, [id]);
  await rescueAll(queue.admin);
  const done = await claimOne(worker);
  await worker.settle(outcome(done, 'completed', { result: { sent: true } }));
  const task = (await showTask(queue.admin, id))!;
  expect(task).toMatchObject({
    id,
    status: 'completed',
    queue: 'default',
    type: 'work',
    priority: 1,
    payload: { n: 1 },
    result: { sent: true },
    attempts: 1,
    lease_owner: 'plain:1:a',
    lease_no: done.lease_no,
  });
  expect(task.errors).toMatchObject([
    {
      attempt: 1,
      outcome: 'failed',
      error: { message: 'one' },
      ran_ms: 5,
      lease_owner: 'plain:1:a',
      version: null,
      lease_no: failed.lease_no,
    },
    {
      attempt: 1,
      outcome: 'lost',
      error: { name: 'WorkerLost' },
      retry_at: null,
      lease_no: lost.lease_no,
    },
  ]);
  expect(task.updated_at).toBe(task.finished_at);
});

test('what follows its end is shown: its own, and while it lives that of its type', async () => {
  const worker = await registerWorker(queue.admin);
  await queue.admin.rows("select taskq.add_types('{alarm,report}')");
  await queue.admin.rows(`select taskq.set_type('work', '{"on_dead": {"type": "alarm"}}')`);
  const id = await enqueue(queue.admin, { on_complete: { type: 'report', payload: { to: 'ann' } } });
  const own = { value: { type: 'report', payload: { to: 'ann' } }, from: 'task' };
  const follows = async () => {
    const { on_complete, on_dead } = (await showTask(queue.admin, id))!;
    return { on_complete, on_dead };
  };
  expect(await follows()).toEqual({
    on_complete: own,
    on_dead: { value: { type: 'alarm' }, from: 'type' },
  });
  await worker.settle(outcome(await claimOne(worker), 'completed'));
  expect(await follows()).toEqual({ on_complete: own, on_dead: null });
});

test('a task that never was is not shown', async () => {
  expect(await showTask(queue.admin, '999999999')).toBeUndefined();
});

test('all_tasks derives when a task was last changed', async () => {
  const id = await enqueue(queue.admin);
  const updated = (column: string) =>
    queue.admin.value(`select updated_at = ${column} from taskq.all_tasks where id = $1`, id);
  expect(await updated('created_at')).toBe(true);
  const worker = await registerWorker(queue.admin);
  const task = await claimOne(worker);
  expect(await updated('started_at')).toBe(true);
  await queue.admin.rows('select taskq.cancel($1)', [id]);
  expect(await updated('cancel_requested_at')).toBe(true);
  await worker.settle(outcome(task, 'completed'));
  expect(await updated('finished_at')).toBe(true);
});

test('each policy is returned with its source: the task, else its type, else its queue, else the defaults', async () => {
  const applies = async (id: string) => (await showTask(queue.admin, id))!.applies;
  const id = await enqueue(queue.admin, { queue: 'mail' });
  const others = [
    await enqueue(queue.admin, { queue: 'mail' }),
    await enqueue(queue.admin, { queue: 'mail' }),
  ];
  for (const one of [id, ...others]) {
    expect(await applies(one)).toMatchObject({
      max_attempts: { value: 3, from: 'defaults' },
      timeout_ms: { value: null, from: 'defaults' },
      backoff: { value: { kind: 'exponential' }, from: 'defaults' },
      retention: { value: '7d', from: 'defaults' },
    });
  }
  await queue.admin.rows(
    `select taskq.set_queue('mail', '{"max_attempts": 8, "timeout_ms": 1000, "retention": "9d"}')`,
  );
  await queue.admin.rows('select taskq.cancel($1)', [others[0]]);
  await queue.admin.rows("select taskq.move_to_dead($1, '{r}', clock_timestamp())", [others[1]]);
  for (const one of [id, ...others]) {
    expect(await applies(one)).toMatchObject({
      max_attempts: { value: 8, from: 'queue' },
      timeout_ms: { value: 1000, from: 'queue' },
      retention: { value: '9d', from: 'queue' },
    });
  }
  await registerWorker(queue.admin, { work: { max_attempts: 5, backoff: { kind: 'fixed', base_ms: 1 } } });
  const own = await enqueue(queue.admin, { queue: 'mail', max_attempts: 2_147_483_647, retention: 'ever' });
  expect(await applies(id)).toMatchObject({
    max_attempts: { value: 5, from: 'type' },
    backoff: { value: { kind: 'fixed', base_ms: 1 }, from: 'type' },
    timeout_ms: { value: 1000, from: 'queue' },
  });
  expect(await applies(own)).toMatchObject({
    max_attempts: { value: 'unlimited', from: 'task' },
    retention: { value: 'ever', from: 'task' },
  });
});

describe('for an ended task the policies are those that applied then', () => {
  const set = (what: string, ...values: unknown[]) => queue.admin.rows(`select taskq.${what}`, ...values);
  const settingsOf = (max_attempts: number | null) => JSON.stringify({ max_attempts, retention: 'ever' });

  /** How often it is tried, and who says so, as it is shown and as it is listed. */
  async function attempts(id: string): Promise<string> {
    const shown = (await showTask(queue.admin, id))!.applies.max_attempts;
    const listed = await queue.admin.value<{ id: string; applies: { max_attempts: object } }[]>(
      "select tasks from taskq.find_tasks('{}', 100)",
    );
    expect(listed.find((task) => task.id === id)!.applies.max_attempts).toEqual(shown);
    return `${shown.value} (${shown.from})`;
  }

  /** A task that completes, one that dies, one that is cancelled, and one that does not end: their ids. */
  async function end(): Promise<{ ended: string[]; waits: string }> {
    const worker = await registerWorker(queue.admin, {});
    const ended = [await enqueue(queue.admin), await enqueue(queue.admin), await enqueue(queue.admin)];
    await worker.settle(outcome(await claimOne(worker), 'completed'));
    await worker.settle(outcome(await claimOne(worker), 'dead', { reason: 'r', error: { message: 'm' } }));
    await queue.admin.rows('select taskq.cancel($1)', [ended[2]]);
    return { ended, waits: await enqueue(queue.admin, { delay_ms: 3_600_000 }) };
  }

  async function allOf(ids: readonly string[]): Promise<string> {
    const everyShown = new Set<string>();
    for (const id of ids) everyShown.add(await attempts(id));
    return [...everyShown].join();
  }

  test.each([
    ['the defaults', 'set_defaults($1)', '(defaults)', '3 (defaults)'],
    ['its queue', "set_queue('default', $1)", '(queue)', '3 (defaults)'],
    ['its type', "set_type('work', $1)", '(type)', '3 (defaults)'],
  ])('where an operator changes what %s says', async (_level, door, from, before) => {
    await queue.admin.rows("select taskq.add_types('{work}')");
    const first = await end();
    await set(door, settingsOf(5));
    const second = await end();
    await set(door, settingsOf(6));
    await set(door, settingsOf(7));
    const third = await end();
    await set(door, settingsOf(null));
    expect(await allOf(first.ended)).toBe(before);
    expect(await allOf(second.ended)).toBe(`5 ${from}`);
    expect(await allOf(third.ended)).toBe(`7 ${from}`);
    expect(await allOf([first.waits, second.waits, third.waits])).toBe('3 (defaults)');
  });

  test('where another worker registers the type, and where it is removed and comes back', async () => {
    await registerWorker(queue.admin, { work: { max_attempts: 5 } });
    const { ended } = await end();
    await registerWorker(queue.admin, { work: { max_attempts: 9 } });
    expect(await allOf(ended)).toBe('5 (type)');
    await queue.admin.rows('update taskq.workers set stopped_at = clock_timestamp()');
    await set("remove_type('work')");
    expect(await allOf(ended)).toBe('5 (type)');
    const without = await enqueue(queue.admin, { allow_unknown: true });
    await queue.admin.rows('select taskq.cancel($1)', [without]);
    await set("set_type('work', $1)", settingsOf(2));
    expect(await attempts(without)).toBe('3 (defaults)');
    expect(await allOf(ended)).toBe('5 (type)');
  });

  test('to the commit of what changes it, and after a change by hand too', async () => {
    await queue.admin.rows("insert into taskq.queues (name, max_attempts) values ('default', 5)");
    await queue.admin.rows("select taskq.add_types('{work}')");
    const operator = await queue.session();
    await operator.rows('begin');
    await operator.rows("update taskq.queues set max_attempts = 6 where name = 'default'");
    const { ended } = await end();
    await operator.rows('commit');
    expect(await allOf(ended)).toBe('5 (queue)');
    await queue.admin.rows('delete from taskq.queues');
    expect(await allOf(ended)).toBe('5 (queue)');
  });

  test('for as long as it is kept, and no past settings are kept for longer', async () => {
    await queue.admin.rows("select taskq.add_types('{work}')");
    const { ended } = await end();
    await set("set_queue('default', $1)", settingsOf(5));
    await queue.admin.rows(`
      update taskq.past_settings set until = until - interval '3 days';
      update taskq.finished_tasks set created_at = created_at - interval '4 days',
        finished_at = finished_at - interval '4 days';
      update taskq.dead_tasks set died_at = died_at - interval '4 days';
    `);
    const kept = () => queue.admin.value('select count(*)::integer from taskq.past_settings');
    await set('maintain()');
    expect([await allOf(ended), await kept()]).toEqual(['3 (defaults)', 1]);
    await queue.admin.rows('delete from taskq.dead_tasks');
    await set('maintain()');
    expect(await kept()).toBe(1);
    await queue.admin.rows('delete from taskq.finished_tasks');
    await set('maintain()');
    expect(await kept()).toBe(0);
  });
});
