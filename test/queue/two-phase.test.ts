import { createWorker, TaskQueue } from 'taskq';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { markIdle } from '../../src/queue/protocol/mark-idle.ts';
import { type Session, useDatabase } from './session.ts';
import { waitUntil } from './waiting.ts';
import { type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();
const opened: (() => Promise<void>)[] = [];

let producer: Session;
let worker: PlainWorker;

beforeEach(async () => {
  producer = await queue.session();
  worker = await registerWorker(await queue.session());
});

afterEach(async () => {
  for (const close of opened.splice(0)) await close();
  const left = await queue.admin.rows<{ gid: string }>(
    'select gid from pg_prepared_xacts where database = current_database()',
  );
  for (const { gid } of left) await queue.admin.rows(`rollback prepared '${gid}'`);
});

/** An idle worker's mark stands: whoever enqueues is to wake it. */
const sleeps = () => markIdle(worker.session, { workerId: worker.id, queues: null, types: ['work'] }, 60_000);

/** Do this in a transaction, and prepare that. */
async function prepared(work: (session: Session) => Promise<unknown>, first?: string): Promise<void> {
  await producer.rows('begin');
  if (first !== undefined) await producer.rows(first);
  await work(producer);
  await producer.rows("prepare transaction 'two-phase'");
}

const commit = () => producer.rows("commit prepared 'two-phase'");
const payloads = async () =>
  (await queue.admin.rows<{ payload: unknown }>('select payload from taskq.tasks order by payload')).map(
    (row) => row.payload,
  );

test('a transaction that wakes a worker cannot be prepared, which is why it can do without', async () => {
  await sleeps();
  await expect(prepared((session) => session.rows("select taskq.enqueue('work')"))).rejects.toMatchObject({
    code: '0A000',
  });
});

describe('an enqueue that may not notify', () => {
  test.each([
    ['one', `select taskq.enqueue('work', '1', '{"notify": false}')`],
    ['one with a key', `select taskq.enqueue('work', '1', '{"notify": false, "key": "k"}')`],
    ['many', `select taskq.enqueue_many('[{"type": "work", "payload": 1}]', '{"notify": false}')`],
    [
      'many with keys',
      `select taskq.enqueue_many('[{"type": "work", "payload": 1, "key": "k"}]', '{"notify": false}')`,
    ],
  ])('is prepared and committed, be a worker asleep or not: %s', async (_, enqueue) => {
    for (const isAsleep of [false, true]) {
      if (isAsleep) await sleeps();
      await queue.admin.rows('delete from taskq.tasks');
      await prepared((session) => session.rows(enqueue));
      expect(await payloads()).toEqual([]);
      await commit();
      expect(await payloads()).toEqual([1]);
    }
    expect(await worker.claim()).toMatchObject([{ payload: 1 }]);
  });

  test('is one of the library with notify: false', async () => {
    const tasks = new TaskQueue({ databaseUrl: queue.url });
    opened.push(() => tasks.close());
    await sleeps();
    await prepared(async ({ client }) => {
      await tasks.enqueue('work', 1, { client, notify: false });
      await tasks.enqueue('work', 2, { client, notify: false, key: 'k' });
      await tasks.enqueueMany([{ type: 'work', payload: 3 }], { client, notify: false });
    });
    await commit();
    expect(await payloads()).toEqual([1, 2, 3]);
  });

  test('says true or false, or nothing', async () => {
    await expect(
      queue.admin.rows(`select taskq.enqueue('work', '{}', '{"notify": "never"}')`),
    ).rejects.toMatchObject({
      code: '22023',
    });
    await sleeps();
    await producer.rows('begin');
    await producer.rows(`select taskq.enqueue('work', '{}', '{"notify": null}')`);
    await expect(producer.rows("prepare transaction 'two-phase'")).rejects.toMatchObject({ code: '0A000' });
  });
});

test('with taskq.notify off in a transaction, whatever it does with tasks and workers can be prepared', async () => {
  const [held, ended] = await Promise.all(
    [1, 2].map((n) =>
      queue.admin.value<string>(`select id from taskq.enqueue('work', '${n}', '{"notify_done": true}')`),
    ),
  );
  const leases = await worker.claim({ start: 2 });
  const dead = await queue.admin.value<string>(`select id from taskq.enqueue('work', '3')`);
  await queue.admin.rows("select taskq.add_dead($1, 'by hand')", dead);
  await sleeps();
  await prepared(async (session) => {
    await session.rows("select taskq.enqueue('work', '4')");
    await session.rows('select taskq.cancel($1)', [held]);
    await session.rows('select taskq.revive($1)', [dead]);
    await session.rows('select taskq.stop_worker($1)', worker.id);
    await session.rows("select taskq.pause_queue('other')");
    await session.rows("select taskq.resume_queue('other')");
    const lease = leases.find(({ id }) => id === ended)!;
    const outcome = { id: lease.id, lease_no: lease.lease_no, outcome: 'completed', ran_ms: 1 };
    await session.rows('select taskq.settle($1, $2)', worker.id, JSON.stringify([outcome]));
  }, 'set local taskq.notify = off');
  await commit();
  expect(await queue.admin.rows('select id from taskq.finished_tasks')).toEqual([{ id: ended }]);
  expect(await payloads()).toEqual([1, 3, 4]);
});

test('settings changed so apply from COMMIT PREPARED, and are shown of what ended from PREPARE', async () => {
  const enqueueOne = () => queue.admin.value<string>("select id from taskq.enqueue('work')");
  const [before, between, after] = [await enqueueOne(), await enqueueOne(), await enqueueOne()];
  const cancel = (id: string) => queue.admin.rows('select taskq.cancel($1)', [id]);
  const shown = (id: string) =>
    queue.admin.value("select applies -> 'max_attempts' from taskq.all_tasks where id = $1", id);
  const old = { value: 3, from: 'defaults' };
  const set = { value: 7, from: 'queue' };
  await cancel(before);
  await prepared((session) => session.rows(`select taskq.set_queue('default', '{"max_attempts": 7}')`));
  await cancel(between);
  expect(await Promise.all([before, between, after].map(shown))).toEqual([old, old, old]);
  await commit();
  await cancel(after);
  expect(await Promise.all([before, between, after].map(shown))).toEqual([old, set, set]);
});

test('a worker that sleeps finds by polling what was committed so', async () => {
  const done: unknown[] = [];
  const sleeper = createWorker({
    databaseUrl: queue.url,
    handlers: { work: (payload: unknown) => done.push(payload) },
  });
  await sleeper.start();
  opened.push(() => sleeper.stop());
  await waitUntil(
    () => queue.admin.value<boolean>('select exists (select from taskq.idle_marks)'),
    'it does not sleep',
  );
  await prepared((session) => session.rows(`select taskq.enqueue('work', '1', '{"notify": false}')`));
  await commit();
  await waitUntil(async () => done.length === 1, 'it does not find it');
});
