import { expect, test } from 'vitest';
import { enqueue, enqueueSome } from './rows.ts';
import type { Session } from './session.ts';
import { useDatabase } from './session.ts';
import { waitUntil } from './waiting.ts';
import { registerWorker } from './worker.ts';

const queue = useDatabase();

interface Listener {
  readonly received: { queue: string; from_us: number }[];
  /** Waits for a notification sent after all others. */
  caughtUp(): Promise<void>;
}

async function listen(): Promise<Listener> {
  const session: Session = await queue.directSession();
  const received: Listener['received'] = [];
  let marks = 0;
  session.client.on('notification', ({ channel, payload }) => {
    if (channel === 'mark') marks++;
    else received.push(JSON.parse(payload!));
  });
  await session.rows('listen taskq_wake');
  await session.rows('listen mark');
  return {
    received,
    async caughtUp() {
      const before = marks;
      await queue.admin.rows('notify mark');
      await waitUntil(async () => marks > before, 'the mark did not come');
    },
  };
}

test('without a sleeping worker no notification is sent', async () => {
  const listener = await listen();
  await enqueue(queue.admin);
  await listener.caughtUp();
  expect(listener.received).toEqual([]);
});

test('a sleeping worker of the queue is notified once per transaction, with the earliest time', async () => {
  const listener = await listen();
  const worker = await registerWorker(queue.admin);
  await queue.admin.rows('select taskq.mark_idle($1, $2, 60000)', worker.id, ['default', 'other']);
  await queue.admin.rows('begin');
  for (let n = 0; n < 3; n++) await enqueueSome(queue.admin, 5);
  await queue.admin.rows('commit');
  await enqueue(queue.admin, { queue: 'elsewhere' });
  await listener.caughtUp();
  const dues = await queue.admin.rows<{ us: string }>(
    "select distinct (extract(epoch from date_trunc('second', available_at)) * 1000000)::bigint as us from taskq.tasks where queue = 'default' order by 1",
  );
  // One, unless a second began in between.
  expect(listener.received).toEqual(dues.map((due) => ({ queue: 'default', from_us: Number(due.us) })));
});

test('a task that is due after the sleep is no reason to wake', async () => {
  const listener = await listen();
  const worker = await registerWorker(queue.admin);
  await queue.admin.rows('select taskq.mark_idle($1, null, 60000)', worker.id);
  await enqueue(queue.admin, { delay_ms: 600_000 });
  await listener.caughtUp();
  expect(listener.received).toEqual([]);
  await enqueue(queue.admin, { delay_ms: 2000 });
  await listener.caughtUp();
  expect(listener.received).toMatchObject([{ queue: 'default' }]);
});

test('an awake worker, or one whose sleep is over, is not notified', async () => {
  const listener = await listen();
  const worker = await registerWorker(queue.admin);
  await queue.admin.rows('select taskq.mark_idle($1, null, 60000)', worker.id);
  await queue.admin.rows('update taskq.idle_marks set until = clock_timestamp()');
  await enqueue(queue.admin);
  await queue.admin.rows('select taskq.mark_idle($1, null, 60000)', worker.id);
  await queue.admin.rows('select taskq.unmark_idle($1)', worker.id);
  await enqueue(queue.admin);
  await listener.caughtUp();
  expect(listener.received).toEqual([]);
});

test('what keeps its old place always wakes: given back, or rescued', async () => {
  const listener = await listen();
  await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  await worker.giveBack(await worker.claim());
  await worker.claim();
  await queue.admin.rows("update taskq.tasks set lease_expires_at = clock_timestamp() - interval '1 ms'");
  await queue.admin.rows('select taskq.rescue(0, 1000, $1)', worker.id);
  await listener.caughtUp();
  expect(listener.received).toMatchObject([{ queue: 'default' }, { queue: 'default' }]);
});

test('a worker that marks itself idle gets the time when the next task of its queues is due', async () => {
  const worker = await registerWorker(queue.admin);
  const due = (queues: string[] | null) =>
    queue.admin.value<number | null>('select due_ms from taskq.mark_idle($1, $2, 1000)', worker.id, queues);
  expect(await due(['default'])).toBeNull();
  await enqueue(queue.admin, { delay_ms: 60_000, priority: 9 });
  await enqueue(queue.admin, { delay_ms: 90_000, priority: 0, queue: 'other' });
  expect(await due(['other'])).toBeGreaterThan(80_000);
  expect(await due(null)).toBeLessThanOrEqual(60_000);
});

test('it gets the time when the next task of its types is due; after twenty tasks of other types it looks again', async () => {
  const worker = await registerWorker(queue.admin);
  const due = () =>
    queue.admin.value<number | null>(
      `select due_ms from taskq.mark_idle($1, '{default}', 1000, '{rare}')`,
      worker.id,
    );
  const of = (type: string, seconds: number) =>
    queue.admin.rows('select from taskq.enqueue($1, $2, $3)', type, '{}', {
      delay_ms: 1000 * seconds,
      allow_unknown: true,
    });
  for (let n = 1; n < 20; n++) await of('work', 100 + n);
  expect(await due()).toBeNull();
  await of('rare', 1000);
  expect(await due()).toBeGreaterThan(900_000);
  await of('work', 200);
  expect(Math.round((await due())! / 10_000)).toBe(20);
  await of('rare', 50);
  expect(await due()).toBeLessThanOrEqual(50_000);
});

test('it may ask for less: neither the queues it knows nor the next due time', async () => {
  const worker = await registerWorker(queue.admin);
  const mark = (options: object) =>
    queue.admin.row<{ due_ms: number | null; context: { queues: string[] | null } }>(
      'select due_ms, context from taskq.mark_idle($1, null, 1000, null, $2)',
      worker.id,
      options,
    );
  await enqueue(queue.admin, { delay_ms: 60_000 });
  await enqueue(queue.admin, { delay_ms: 30_000, queue: 'other' });
  expect((await mark({}))?.context.queues).toEqual(['default', 'other']);
  const known = await mark({ known: ['default'] });
  expect(known?.context.queues).toBeNull();
  expect(known?.due_ms).toBeGreaterThan(30_000);
  expect(await mark({ due: false })).toMatchObject({
    due_ms: null,
    context: { queues: ['default', 'other'] },
  });
});

test('a task that has expired keeps no worker from ending, unless a workflow waits for its end', async () => {
  await enqueue(queue.admin, { expires_ms: 1 });
  await queue.admin.rows("update taskq.tasks set expires_at = now() - interval '1 s'");
  const unfinished = () =>
    queue.admin.row("select unfinished, left_for_later from taskq.count_unfinished('{work}')");
  expect(await unfinished()).toEqual({ unfinished: '0', left_for_later: {} });
  await queue.admin.rows(
    `select taskq.run_workflow('{"name": "w", "steps": [{"type": "work", "step": "a", "expires_ms": 1}]}', '{"allow_unknown": true}')`,
  );
  await queue.admin.rows("update taskq.tasks set expires_at = now() - interval '1 s'");
  expect(await unfinished()).toMatchObject({ unfinished: '1' });
});
