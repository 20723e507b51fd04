import { expect, test } from 'vitest';
import { enqueue } from './rows.ts';
import { type Session, useDatabase } from './session.ts';
import { claimOne, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

interface Followed {
  readonly status: string;
  readonly progress: unknown;
  readonly lines: readonly { readonly attempt: number; readonly message: string }[];
  readonly errors: readonly object[];
  readonly since: string;
}

const follow = (session: Session, id: string, since: string | null = null): Promise<Followed | null> =>
  session.value('select taskq.follow_task($1, $2)', id, since);

const followedBy = async ({ id, session }: PlainWorker): Promise<string[]> =>
  (await session.value<{ followed: string[] }>('select taskq.get_orders($1)', id)).followed;

/** Stores a line of a task's log. */
async function log(worker: PlainWorker, task: object, first: number, more: object = {}): Promise<void> {
  const lines = [{ ago_ms: 0, level: 'info', message: `line ${first}` }];
  const notes = [{ ...task, log: { first, lines, ...more } }];
  await worker.session.rows('select from taskq.note($1, $2)', worker.id, JSON.stringify(notes));
}

test('the workers learn which tasks are followed, and each call returns what is new', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  expect(await followedBy(worker)).toEqual([]);
  const first = (await follow(queue.admin, id))!;
  expect(first).toMatchObject({ status: 'pending', progress: null, lines: [] });
  expect(await followedBy(worker)).toEqual([id]);
  const { lease_no } = await claimOne(worker);
  await log(worker, { id, lease_no, progress: { value: 0.5 } }, 1);
  const second = (await follow(queue.admin, id, first.since))!;
  expect(second).toMatchObject({
    status: 'running',
    progress: { value: 0.5 },
    lines: [{ attempt: 1, level: 'info', message: 'line 1', at: expect.any(String) }],
  });
  expect(await follow(queue.admin, id, second.since)).toMatchObject({ lines: [] });
  await log(worker, { id, lease_no }, 2);
  await worker.settle(outcome({ id, lease_no }, 'failed', { delay_ms: 0 }));
  const again = await claimOne(worker);
  await log(worker, { id, lease_no: again.lease_no }, 1);
  const third = (await follow(queue.admin, id, second.since))!;
  expect(third).toMatchObject({
    lines: [
      { attempt: 1, message: 'line 2' },
      { attempt: 2, message: 'line 1' },
    ],
    errors: [{ attempt: 1, outcome: 'failed', failed_at: expect.any(String), retry_at: expect.any(String) }],
  });
  expect(await follow(queue.admin, id, third.since)).toMatchObject({ lines: [], errors: [] });
  // Who begins to follow sees the attempt of now.
  expect(await follow(queue.admin, id)).toMatchObject({ lines: [{ attempt: 2 }], errors: [] });
});

test('lines that come after the clock has gone back are new as well, those of the next attempt too', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  await follow(queue.admin, id);
  const { lease_no } = await claimOne(worker);
  await log(worker, { id, lease_no }, 1);
  await queue.admin.rows("update taskq.task_logs set logged_at = logged_at + interval '1 h'");
  let { since } = (await follow(queue.admin, id))!;
  const next = async () => {
    const now = (await follow(queue.admin, id, since))!;
    since = now.since;
    return now.lines.map(({ attempt, message }) => `${attempt}: ${message}`);
  };
  await log(worker, { id, lease_no }, 2);
  expect(await next()).toEqual(['1: line 2']);
  await worker.settle(outcome({ id, lease_no }, 'failed', { delay_ms: 0 }));
  await log(worker, { id, lease_no: (await claimOne(worker)).lease_no }, 1);
  expect(await next()).toEqual(['2: line 1']);
});

test('who begins to follow an attempt that has logged nothing sees no line of those before it', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  const { lease_no } = await claimOne(worker);
  await log(worker, { id, lease_no }, 1);
  await worker.settle(outcome({ id, lease_no }, 'failed', { delay_ms: 0 }));
  const again = await claimOne(worker);
  const first = (await follow(queue.admin, id))!;
  expect(first.lines).toEqual([]);
  expect(await follow(queue.admin, id, first.since)).toMatchObject({ lines: [] });
  await log(worker, { id, lease_no: again.lease_no }, 1);
  expect((await follow(queue.admin, id, first.since))!.lines).toMatchObject([{ attempt: 2 }]);
});

test('a mark is renewed before it runs out, and housekeeping removes one that has', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  const until = () => queue.admin.value<Date>('select until from taskq.followed');
  await follow(queue.admin, id);
  const before = await until();
  await follow(queue.admin, id);
  expect(await until()).toEqual(before);
  await queue.admin.rows("update taskq.followed set until = clock_timestamp() + interval '20 s'");
  await follow(queue.admin, id);
  expect((await until()).getTime()).toBeGreaterThanOrEqual(before.getTime());
  await queue.admin.rows("update taskq.followed set until = clock_timestamp() - interval '2 h'");
  expect(await followedBy(worker)).toEqual([]);
  await queue.admin.rows('select taskq.maintain()');
  expect(await queue.admin.rows('select from taskq.followed')).toEqual([]);
});

test('a task that has ended is not marked, and one that is unknown is null', async () => {
  const id = await enqueue(queue.admin, { retention: '1d' });
  const worker = await registerWorker(queue.admin);
  await worker.settle(outcome(await claimOne(worker), 'completed'));
  expect(await follow(queue.admin, id)).toMatchObject({ status: 'completed' });
  expect(await queue.admin.rows('select from taskq.followed')).toEqual([]);
  expect(await follow(queue.admin, '999999999')).toBeNull();
});

test('an attempt that is followed for long keeps its last 100 lines, or few more', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  const { lease_no } = await claimOne(worker);
  for (let n = 1; n <= 250; n++) await log(worker, { id, lease_no }, n, n > 1 ? { trims: true } : {});
  const kept =
    'select min(first_line) as first, max(first_line) as last, count(*)::int as lines from taskq.task_logs';
  expect(await queue.admin.row(kept)).toEqual({ first: 151, last: 250, lines: 100 });
});
