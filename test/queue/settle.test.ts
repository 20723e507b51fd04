import { describe, expect, test } from 'vitest';
import { settle as settleByLibrary } from '../../src/queue/protocol/settle.ts';
import { deadRow, enqueue, enqueueSome, finishedRow, lapse, liveRow, type Row, rescueAll } from './rows.ts';
import { useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';
import { type Answer, claimOne, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

function errorsOf(id: string): Promise<Row[]> {
  return queue.admin.rows('select * from taskq.task_errors where task_id = $1 order by failed_at', id);
}

/** Claims the task, which has to be the only one, due or not, and settles it. */
async function attempt(worker: PlainWorker, kind: string, more: object = {}): Promise<Answer> {
  await worker.session.rows('update taskq.tasks set available_at = clock_timestamp()');
  const [answer] = await worker.settle(outcome(await claimOne(worker), kind, more));
  return answer!;
}

describe('completed', () => {
  test('a task leaves the live table for the finished ones, with its result', async () => {
    const id = await enqueue(
      queue.admin,
      { priority: 1, key: 'k', tags: { a: '1' }, source: 's', traceparent: 't' },
      { n: 1 },
    );
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    expect(await worker.settle(outcome(task, 'completed', { ran_ms: 5, result: { sent: true } }))).toEqual([
      { id, lease_no: task.lease_no, answer: 'recorded', extra: null },
    ]);
    expect(await liveRow(queue.admin, id)).toBeUndefined();
    expect(await finishedRow(queue.admin, id)).toMatchObject({
      status: 'completed',
      result: { sent: true },
      result_note: null,
      payload: { n: 1 },
      priority: 1,
      unique_key: 'k',
      tags: { a: '1' },
      source: 's',
      traceparent: 't',
      lease_owner: worker.id,
      lease_no: task.lease_no,
      attempts: 0,
    });
  });

  test('one that was claimed ahead started when the worker says so', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    await worker.settle(outcome(await claimOne(worker, { ahead: 1 }), 'completed', { ran_ms: 2000 }));
    const ran = "select finished_at - started_at = interval '2 s' from taskq.finished_tasks where id = $1";
    expect(await queue.admin.value(ran, id)).toBe(true);
  });

  test('an outcome after the lease expired counts if no worker took the task', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await lapse(queue.admin, [id], 3_600_000);
    expect(await worker.settle(outcome(task, 'completed'))).toMatchObject([{ answer: 'recorded' }]);
  });

  test('one with a request to cancel that ends first has completed', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await queue.admin.rows("select taskq.cancel($1, 'too late')", [id]);
    await worker.settle(outcome(task, 'completed'));
    expect(await finishedRow(queue.admin, id)).toMatchObject({
      status: 'completed',
      cancel_reason: 'too late',
    });
  });

  test('an edit made while it ran goes into history with it', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await queue.admin.rows('update taskq.tasks set tags = \'{"late": "yes"}\' where id = $1', id);
    await worker.settle(outcome(task, 'completed'));
    expect(await finishedRow(queue.admin, id)).toMatchObject({ tags: { late: 'yes' } });
  });

  test('a thousand at once are all recorded, each with its own result', async () => {
    await enqueueSome(queue.admin, 1000);
    const worker = await registerWorker(queue.admin);
    const tasks = await worker.claim({ start: 1000 });
    const answers = await worker.settle(
      ...tasks.map((task) => outcome(task, 'completed', { result: task.payload })),
    );
    expect(answers.filter(({ answer }) => answer === 'recorded')).toHaveLength(1000);
    expect(
      await queue.admin.value('select count(*)::int from taskq.finished_tasks where result = payload'),
    ).toBe(1000);
  });
});

describe('failed', () => {
  test('a task waits again, one attempt burned, its error on the row and in the list of errors', async () => {
    const id = await enqueue(queue.admin, { backoff: { kind: 'fixed', base_ms: 60_000 } });
    const worker = await registerWorker(queue.admin);
    const error = { name: 'Error', message: 'no' };
    const answer = await attempt(worker, 'failed', { error, ran_ms: 7, result: { page: 3 } });
    const { lease_no } = answer;
    expect(answer).toEqual({
      id,
      lease_no,
      answer: 'recorded',
      extra: { status: 'pending', attempts: 1, retry_in_ms: 60_000 },
    });
    expect(await liveRow(queue.admin, id)).toMatchObject({
      status: 'pending',
      attempts: 1,
      lease_no,
      lease_owner: null,
      error,
    });
    expect(await errorsOf(id)).toMatchObject([
      {
        attempt: 1,
        lease_no,
        outcome: 'failed',
        error,
        ran_ms: '7',
        lease_owner: worker.id,
        result: { page: 3 },
      },
    ]);
    const exact = `select t.available_at = e.retry_at and e.retry_at - e.failed_at = interval '1 min'
      from taskq.tasks t join taskq.task_errors e on e.task_id = t.id`;
    expect(await queue.admin.value(exact)).toBe(true);
  });

  test('a delay of its own goes before the back-off, and never leads into the past', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    expect(await attempt(worker, 'failed', { delay_ms: 1234 })).toMatchObject({
      extra: { retry_in_ms: 1234 },
    });
    expect(await attempt(worker, 'failed', { delay_ms: -5000 })).toMatchObject({ extra: { retry_in_ms: 0 } });
    const [, late] = await errorsOf(id);
    expect((await liveRow(queue.admin, id))!.available_at).toEqual(late!.failed_at);
  });

  test('when its attempts are spent it is a dead letter that says so', async () => {
    const id = await enqueue(queue.admin, { max_attempts: 2 });
    const worker = await registerWorker(queue.admin);
    await attempt(worker, 'failed', { error: { message: 'first' } });
    expect(await attempt(worker, 'failed', { error: { message: 'second' } })).toMatchObject({
      answer: 'recorded',
      extra: { status: 'dead', attempts: 2, reason: 'attempts_spent' },
    });
    expect(await liveRow(queue.admin, id)).toBeUndefined();
    expect(await deadRow(queue.admin, id)).toMatchObject({
      reason: 'attempts_spent',
      attempts: 2,
      error: { message: 'second' },
      by_hand: false,
      max_attempts: 2,
    });
    expect(await errorsOf(id)).toMatchObject([{ attempt: 1 }, { attempt: 2, retry_at: null }]);
  });

  test('with a request to cancel it is cancelled, not retried', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await queue.admin.rows("select taskq.cancel($1, 'stop')", [id]);
    expect(await worker.settle(outcome(task, 'failed', { error: {} }))).toMatchObject([
      { extra: { status: 'cancelled' } },
    ]);
    expect(await finishedRow(queue.admin, id)).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'stop',
      attempts: 1,
    });
  });

  test('what the handler reports itself clears losses and give-backs; a crash leaves it a suspect', async () => {
    const id = await enqueue(queue.admin, { max_attempts: 9 });
    const worker = await registerWorker(queue.admin);
    await queue.admin.rows('update taskq.tasks set losses = 1, releases = 4');
    await attempt(worker, 'failed', { error: {} });
    expect(await liveRow(queue.admin, id)).toMatchObject({ losses: 0, releases: 0 });
    await attempt(worker, 'failed', { error: {}, crashed: true });
    expect(await liveRow(queue.admin, id)).toMatchObject({ losses: 1 });
    await attempt(worker, 'failed', { error: {}, crashed: true });
    expect(await liveRow(queue.admin, id)).toMatchObject({ losses: 1 });
    await attempt(worker, 'snoozed', { delay_ms: 0 });
    expect(await liveRow(queue.admin, id)).toMatchObject({ losses: 0 });
  });

  test('a task that failed before its start counts as started: it does not expire', async () => {
    const id = await enqueue(queue.admin, { expires_ms: 60_000 });
    const worker = await registerWorker(queue.admin);
    await worker.settle(outcome(await claimOne(worker, { ahead: 1 }), 'failed', { delay_ms: 0 }));
    await queue.admin.rows("update taskq.tasks set expires_at = clock_timestamp() - interval '1 s'");
    expect(await queue.admin.value('select ended from taskq.expire(1000)')).toBe(0);
    expect(await claimOne(worker)).toMatchObject({ id });
  });
});

describe('dead, snoozed, cancelled', () => {
  test('dead is final at once, with the reason the handler gave', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    expect(
      await attempt(worker, 'dead', { reason: 'no such customer', error: { message: 'x' } }),
    ).toMatchObject({
      extra: { status: 'dead', attempts: 1, reason: 'no such customer' },
    });
    expect(await deadRow(queue.admin, id)).toMatchObject({
      reason: 'no such customer',
      attempts: 1,
      error: { message: 'x' },
    });
  });

  test('dead is dead, also with a request to cancel', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await queue.admin.rows('select taskq.cancel($1)', [id]);
    expect(await worker.settle(outcome(task, 'dead', { reason: 'r' }))).toMatchObject([
      { extra: { status: 'dead' } },
    ]);
    expect(await deadRow(queue.admin, id)).toMatchObject({ reason: 'r' });
  });

  test('snoozed waits so long and burns nothing, however often', async () => {
    const id = await enqueue(queue.admin, { max_attempts: 1 });
    const worker = await registerWorker(queue.admin);
    for (let round = 0; round < 5; round++) {
      expect(await attempt(worker, 'snoozed', { delay_ms: 60_000 })).toMatchObject({
        extra: { status: 'pending', attempts: 0, retry_in_ms: 60_000 },
      });
    }
    expect(await errorsOf(id)).toEqual([]);
    expect(await liveRow(queue.admin, id)).toMatchObject({ attempts: 0, status: 'pending' });
  });

  test('snoozed with a request to cancel is cancelled', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await queue.admin.rows('select taskq.cancel($1)', [id]);
    await worker.settle(outcome(task, 'snoozed', { delay_ms: 0 }));
    expect(await finishedRow(queue.admin, id)).toMatchObject({ status: 'cancelled' });
  });

  test('cancelled ones keep each its own reason', async () => {
    const [a, b, c] = await enqueueSome(queue.admin, 3);
    const worker = await registerWorker(queue.admin);
    const tasks = await worker.claim({ start: 3 });
    await queue.admin.rows("select taskq.cancel($1, 'the operator')", [c]);
    const reasons = ['first', 'second', null];
    await worker.settle(
      ...tasks.map((task, place) => outcome(task, 'cancelled', { reason: reasons[place] })),
    );
    expect(await finishedRow(queue.admin, a!)).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'first',
      attempts: 0,
    });
    expect(await finishedRow(queue.admin, b!)).toMatchObject({ cancel_reason: 'second' });
    expect(await finishedRow(queue.admin, c!)).toMatchObject({ cancel_reason: 'the operator' });
  });
});

describe('a batch', () => {
  test('carries all kinds of outcomes, and answers each', async () => {
    const ids = await enqueueSome(queue.admin, 6);
    const worker = await registerWorker(queue.admin);
    const tasks = await worker.claim({ start: 6 });
    const kinds = ['completed', 'failed', 'dead', 'snoozed', 'cancelled', 'completed'];
    const outcomes = tasks.map((task, place) => outcome(task, kinds[place]!, { reason: 'r', delay_ms: 9 }));
    const answers = await worker.settle(...outcomes.toReversed(), {
      id: '77',
      lease_no: 1,
      outcome: 'completed',
    });
    const recorded = answers.filter((answer) => answer.answer === 'recorded');
    expect(recorded.map((answer) => answer.id)).toEqual(ids);
    expect(answers).toHaveLength(7);
    const where = await queue.admin.rows<{ status: string }>(
      'select status::text from taskq.all_tasks order by id',
    );
    expect(where.map((row) => row.status)).toEqual([
      'completed',
      'pending',
      'dead',
      'pending',
      'cancelled',
      'completed',
    ]);
  });

  test('an empty one is no error', async () => {
    const worker = await registerWorker(queue.admin);
    expect(await worker.settle()).toEqual([]);
  });

  test('what the library sends is what the database records', async () => {
    const ids = await enqueueSome(queue.admin, 2);
    const worker = await registerWorker(queue.admin);
    const [first, second] = await worker.claim({ start: 2 });
    const error = { name: 'E', message: 'm', stack: null, code: null, cause: null };
    const answers = await settleByLibrary(queue.admin, worker.id, [
      {
        id: ids[0]!,
        leaseNo: first!.lease_no,
        ranMs: 1.5,
        outcome: {
          kind: 'completed',
          reportedBy: 'handler',
          result: '{"n":9007199254740993}',
          resultNote: null,
        },
      },
      {
        id: ids[1]!,
        leaseNo: second!.lease_no,
        ranMs: null,
        outcome: { kind: 'failed', reportedBy: 'worker', error, delayMs: 5, result: null, resultNote: null },
      },
    ]);
    expect(answers).toEqual([
      { answer: 'recorded', consequence: null },
      { answer: 'recorded', consequence: { status: 'pending', attempts: 1, retry_in_ms: 5 } },
    ]);
    expect(await queue.admin.value('select result::text from taskq.finished_tasks')).toBe(
      '{"n": 9007199254740993}',
    );
    expect(await liveRow(queue.admin, ids[1]!)).toMatchObject({ losses: 1 });
  });

  describe('a lease that is named twice', () => {
    const COLUMNS = 'select id, result, count(*) over ()::int as rows from taskq.finished_tasks';

    test.each(['7d', 'none'])(
      'has completed once, with what is said of it first (history kept: %s)',
      async (kept) => {
        await queue.admin.rows('update taskq.defaults set retention = $1', kept);
        await enqueueSome(queue.admin, 3);
        const worker = await registerWorker(queue.admin);
        const [a, b, c] = await worker.claim({ start: 3 });
        const gone = { ...c!, lease_no: 99 };
        const named = [b!, a!, b!, gone, a!, b!];
        const answers = await queue.admin.rows(
          'select id, lease_no, answer from taskq.complete($1, $2, $3, null, $4)',
          worker.id,
          named.map((task) => task.id),
          named.map((task) => task.lease_no),
          named.map((_, place) => JSON.stringify(place)),
        );
        expect(answers).toEqual([{ id: c!.id, lease_no: 99, answer: 'lost' }]);
        expect(await queue.admin.rows(`${COLUMNS} order by id`)).toEqual(
          kept === 'none'
            ? []
            : [
                { id: a!.id, result: 1, rows: 2 },
                { id: b!.id, result: 0, rows: 2 },
              ],
        );
        expect(await queue.admin.rows('select id from taskq.tasks')).toEqual([{ id: c!.id }]);
      },
    );

    test('has completed if that is said of it, and is answered once', async () => {
      await enqueueSome(queue.admin, 3);
      const worker = await registerWorker(queue.admin);
      const [a, b, c] = await worker.claim({ start: 3 });
      const answers = await worker.settle(
        outcome(a!, 'failed', { error: { name: 'E' } }),
        outcome(a!, 'completed', { result: 'first' }),
        outcome(a!, 'completed', { result: 'second' }),
        outcome(b!, 'completed', { result: 'alone' }),
        outcome(b!, 'dead', { reason: 'r' }),
        outcome(c!, 'completed'),
      );
      expect(answers.map(({ id, answer, extra }) => ({ id, answer, extra }))).toEqual(
        [a!, b!, c!].map(({ id }) => ({ id, answer: 'recorded', extra: null })),
      );
      expect(await queue.admin.rows(`${COLUMNS} order by id`)).toEqual([
        { id: a!.id, result: 'first', rows: 3 },
        { id: b!.id, result: 'alone', rows: 3 },
        { id: c!.id, result: null, rows: 3 },
      ]);
      expect(await queue.admin.rows('select from taskq.task_errors')).toEqual([]);
    });

    test('fails once, by what is said of it first', async () => {
      const id = await enqueue(queue.admin);
      const worker = await registerWorker(queue.admin);
      const task = await claimOne(worker);
      const answers = await worker.settle(
        outcome(task, 'failed', { error: { name: 'First' }, delay_ms: 5 }),
        outcome(task, 'dead', { error: { name: 'Second' } }),
        outcome(task, 'failed', { error: { name: 'Third' }, delay_ms: 7 }),
      );
      expect(answers).toMatchObject([
        { id, answer: 'recorded', extra: { status: 'pending', attempts: 1, retry_in_ms: 5 } },
      ]);
      expect(await errorsOf(id)).toMatchObject([{ attempt: 1, error: { name: 'First' } }]);
      expect(await liveRow(queue.admin, id)).toMatchObject({ attempts: 1, error: { name: 'First' } });
    });
  });

  test.each([['finished'], [null]])('with an outcome that there is not (%s) is refused', async (kind) => {
    await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await expect(worker.settle(outcome(task, kind as string))).rejects.toMatchObject({
      code: '22023',
      message: `outcome ${JSON.stringify(kind)}: expected completed, failed, dead, snoozed or cancelled`,
    });
  });

  test.each(['settle', 'settle_and_enqueue'])('that is no array is refused by %s', async (name) => {
    for (const [outcomes, type] of [
      ['{"id": 1}', 'object'],
      ['null', 'null'],
      ['5', 'number'],
    ]) {
      const settled = queue.admin.rows(`select * from taskq.${name}(1, $1)`, outcomes);
      await expect(settled).rejects.toMatchObject({
        code: '22023',
        message: `${name}: outcomes: expected an array of objects, not ${type}`,
      });
    }
  });

  test('with one outcome that cannot be stored records none of it', async () => {
    const ids = await enqueueSome(queue.admin, 2);
    const worker = await registerWorker(queue.admin);
    const [a, b] = await worker.claim({ start: 2 });
    const bad = worker.settle(outcome(a!, 'completed'), outcome(b!, 'completed', { result: 'x\u0000' }));
    await expect(bad).rejects.toMatchObject({ code: '22P05' });
    for (const id of ids) expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'running' });
  });
});

describe('the fence', () => {
  test('a repeat is already recorded and counts nothing twice, whatever the outcome was', async () => {
    await enqueueSome(queue.admin, 5);
    const worker = await registerWorker(queue.admin);
    const tasks = await worker.claim({ start: 5 });
    const kinds = ['completed', 'failed', 'dead', 'snoozed', 'cancelled'];
    const outcomes = tasks.map((task, place) => outcome(task, kinds[place]!, { error: {}, reason: 'r' }));
    await worker.settle(...outcomes);
    const all = 'select * from taskq.all_tasks order by id';
    const before = await queue.admin.rows(all);
    expect((await worker.settle(...outcomes)).map((answer) => answer.answer)).toEqual(
      new Array(5).fill('already'),
    );
    expect(await queue.admin.rows(all)).toEqual(before);
    expect(await queue.admin.value('select count(*)::int from taskq.task_errors')).toBe(2);
  });

  test.each(['completed', 'failed', 'dead', 'snoozed', 'cancelled'])(
    'a second outcome of an attempt (%s) changes nothing about the first',
    async (second) => {
      const id = await enqueue(queue.admin);
      const worker = await registerWorker(queue.admin);
      const task = await claimOne(worker);
      await worker.settle(outcome(task, 'snoozed', { delay_ms: 3_600_000 }));
      const before = await liveRow(queue.admin, id);
      const late = outcome(task, second, { error: {}, reason: 'late', delay_ms: 0 });
      expect(await worker.settle(late)).toMatchObject([{ answer: 'already' }]);
      expect(await worker.heartbeat([{ ...task, started_ms: 5 }])).toMatchObject([{ answer: 'lost' }]);
      expect(await worker.giveBack([task])).toMatchObject([{ answer: 'lost' }]);
      expect(await liveRow(queue.admin, id)).toEqual(before);
    },
  );

  test('a repeat about a dead letter that was revived is already recorded', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await worker.settle(outcome(task, 'dead', { reason: 'r' }));
    await queue.admin.rows('select taskq.revive($1)', [id]);
    expect(await worker.settle(outcome(task, 'dead', { reason: 'r' }))).toMatchObject([
      { answer: 'already' },
    ]);
    expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'pending', attempts: 0 });
  });

  test('a repeat about a task that left no row is lost', async () => {
    await enqueue(queue.admin, { retention: 'none' });
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    expect(await worker.settle(outcome(task, 'completed'))).toMatchObject([{ answer: 'recorded' }]);
    expect(await worker.settle(outcome(task, 'completed'))).toMatchObject([{ answer: 'lost' }]);
  });

  test.each(['completed', 'failed', 'dead', 'snoozed', 'cancelled'])(
    'a stale %s is lost, and nothing is written',
    async (kind) => {
      const id = await enqueue(queue.admin);
      const [a, b] = [await registerWorker(queue.admin), await registerWorker(queue.admin)];
      const stale = await claimOne(a);
      await lapse(queue.admin, [id]);
      await rescueAll(queue.admin, a.id);
      const current = await claimOne(b);
      const before = await liveRow(queue.admin, id);
      expect(await a.settle(outcome(stale, kind, { error: {}, reason: 'r' }))).toMatchObject([
        { answer: 'lost' },
      ]);
      expect(await liveRow(queue.admin, id)).toEqual(before);
      await b.settle(outcome(current, 'completed'));
      expect(await a.settle(outcome(stale, kind, { error: {}, reason: 'r' }))).toMatchObject([
        { answer: 'lost' },
      ]);
      expect(await finishedRow(queue.admin, id)).toMatchObject({
        lease_owner: b.id,
        lease_no: current.lease_no,
      });
      expect(
        await queue.admin.value("select count(*)::int from taskq.task_errors where outcome <> 'lost'"),
      ).toBe(0);
    },
  );

  test.each(['completed', 'failed', 'dead', 'snoozed', 'cancelled'])(
    'of two leases of one task in one batch, a stale %s changes nothing about the current one',
    async (staleKind) => {
      const worker = await registerWorker(queue.admin);
      for (const kind of ['completed', 'failed', 'dead', 'snoozed', 'cancelled']) {
        const id = await enqueue(queue.admin);
        const stale = await claimOne(worker);
        await worker.giveBack([stale]);
        const current = await claimOne(worker);
        const answers = await worker.settle(
          outcome(stale, staleKind, {
            error: { of: 'stale' },
            reason: 'stale',
            delay_ms: 1,
            result: 'stale',
          }),
          outcome(current, kind, {
            error: { of: 'current' },
            reason: 'current',
            delay_ms: 3_600_000,
            result: 'current',
          }),
        );
        expect(new Map(answers.map(({ lease_no, answer }) => [lease_no, answer]))).toEqual(
          new Map([
            [stale.lease_no, 'lost'],
            [current.lease_no, 'recorded'],
          ]),
        );
        const noted = 'select count(*)::int from taskq.task_errors where lease_no = $1';
        expect(await queue.admin.value(noted, stale.lease_no)).toBe(0);
        const row = await queue.admin.row<Row>('select * from taskq.all_tasks where id = $1', id);
        const status = { completed: 'completed', dead: 'dead', cancelled: 'cancelled' }[kind] ?? 'pending';
        expect(row).toMatchObject({ status });
        expect(JSON.stringify(row)).not.toContain('stale');
        await queue.admin.rows('delete from taskq.tasks');
      }
    },
  );

  test('an outcome of a task that was never held is lost, whatever the number', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    expect(await worker.settle(outcome({ id, lease_no: 1 }, 'completed'))).toMatchObject([
      { answer: 'lost' },
    ]);
    expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'pending' });
  });

  test('a row that another transaction has locked is busy, the others are recorded at once', async () => {
    const kinds = ['completed', 'failed', 'dead'];
    const ids = await enqueueSome(queue.admin, 6);
    const worker = await registerWorker(await queue.session());
    const tasks = await worker.claim({ start: 6 });
    const outcomes = tasks.map((task, place) => outcome(task, kinds[place % 3]!, { reason: 'r' }));
    await worker.session.rows("set statement_timeout = '20s'");
    await queue.admin.rows('begin');
    await queue.admin.rows("update taskq.tasks set tags = '{}' where id = any ($1)", ids.slice(0, 3));
    expect((await worker.settle(...outcomes)).map((answer) => answer.answer)).toEqual([
      'busy',
      'busy',
      'busy',
      'recorded',
      'recorded',
      'recorded',
    ]);
    await queue.admin.rows('commit');
    expect((await worker.settle(...outcomes)).map((answer) => answer.answer)).toEqual([
      'recorded',
      'recorded',
      'recorded',
      'already',
      'already',
      'already',
    ]);
  });

  test.each([
    ['settle', 'taskq.settle(1, $2, $1)', '"x"'],
    ['complete', "taskq.complete(1, '{}', '{}', options => $1)", '1e30'],
    ['settle_and_enqueue', 'taskq.settle_and_enqueue(1, $2, $1)', '[]'],
  ])('a row to wait for that no id names is refused in one line (%s)', async (name, call, wait_for) => {
    const options = `{"wait_for": ${wait_for}}`;
    const refused = queue.admin.rows(`select from ${call}`, options, ...(call.includes('$2') ? ['[]'] : []));
    await expect(refused).rejects.toMatchObject({
      code: '22023',
      message: `${name}: wait_for ${wait_for === '1e30' ? `1${'0'.repeat(30)}` : wait_for}: expected the id of a task`,
    });
  });

  test.each(['completed', 'failed'])(
    'a row that was busy is waited for on demand, for a while (%s)',
    async (kind) => {
      const [locked, free] = (await enqueueSome(queue.admin, 2)) as [string, string];
      const worker = await registerWorker(await queue.session());
      const tasks = await worker.claim({ start: 2 });
      const settle = async () => {
        const answers = await worker.session.rows<Answer>(
          'select id, answer from taskq.settle($1, $2, $3)',
          worker.id,
          JSON.stringify(tasks.map((task) => outcome(task, kind))),
          { wait_for: locked },
        );
        return Object.fromEntries(answers.map(({ id, answer }) => [id, answer]));
      };
      await queue.admin.rows('begin');
      await queue.admin.rows("update taskq.tasks set tags = '{}' where id = $1", locked);
      expect(await settle()).toEqual({ [locked]: 'busy', [free]: 'recorded' });
      const waiting = settle();
      await waitUntilBlocked(queue.admin);
      await queue.admin.rows('commit');
      expect(await waiting).toEqual({ [locked]: 'recorded', [free]: 'already' });
    },
  );
});
