import { describe, expect, test } from 'vitest';
import { deadRow, enqueue, enqueueSome, finishedRow, lapse, liveRow, rescueAll } from './rows.ts';
import { useDatabase } from './session.ts';
import { type Answer, claimOne, type Lease, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

function note(worker: PlainWorker, notes: readonly object[], options: object = {}): Promise<Answer[]> {
  return worker.session.rows<Answer>(
    'select * from taskq.note($1, $2, $3) order by id, lease_no',
    worker.id,
    JSON.stringify(notes),
    JSON.stringify(options),
  );
}

function reached({ id, lease_no }: Lease, value: number, text: string | null = null): object {
  return { id, lease_no, progress: { value, text } };
}

function warned({ id, lease_no }: Lease, ...numbers: readonly number[]): object {
  const warnings = numbers.map((n) => ({
    n,
    ago_ms: 100 - n,
    error: { name: 'Error', message: `no. ${n}` },
  }));
  return { id, lease_no, warnings };
}

const WARNINGS = `select task_id as id, lease_no, attempt, outcome, warning, error ->> 'message' as message,
  lease_owner, queue, type, retry_at, ran_ms
  from taskq.task_errors order by failed_at, warning`;

describe('progress', () => {
  test('of several tasks is stored in their rows, with the time, and nothing else of them changes', async () => {
    const ids = await enqueueSome(queue.admin, 3);
    const worker = await registerWorker(queue.admin);
    const tasks = await worker.claim({ start: 3 });
    const before = await liveRow(queue.admin, ids[0]!);
    expect(await note(worker, [reached(tasks[1]!, 1), reached(tasks[0]!, 0.4, 'halfway')])).toMatchObject([
      { id: ids[0], answer: 'recorded', extra: null },
      { id: ids[1], answer: 'recorded' },
    ]);
    const { progress, ...rest } = (await liveRow(queue.admin, ids[0]!))!;
    expect(progress).toEqual({ value: 0.4, text: 'halfway', at: expect.any(String) });
    expect({ ...rest, progress: null }).toEqual(before);
    expect(await liveRow(queue.admin, ids[1]!)).toMatchObject({ progress: { value: 1, text: null } });
    expect(await liveRow(queue.admin, ids[2]!)).toMatchObject({ progress: null });
  });

  test('stays with a task that completes, is cancelled or dies, and with one that is retried', async () => {
    const ids = await enqueueSome(queue.admin, 4, { retention: '1d' });
    const worker = await registerWorker(queue.admin);
    const tasks = await worker.claim({ start: 4 });
    await note(
      worker,
      tasks.map((task, nth) => reached(task, nth)),
    );
    await worker.settle(
      ...['completed', 'cancelled', 'dead', 'failed'].map((kind, nth) => outcome(tasks[nth]!, kind)),
    );
    expect(await finishedRow(queue.admin, ids[0]!)).toMatchObject({ progress: { value: 0 } });
    expect(await finishedRow(queue.admin, ids[1]!)).toMatchObject({ progress: { value: 1 } });
    expect(await deadRow(queue.admin, ids[2]!)).toMatchObject({ progress: { value: 2 } });
    expect(await liveRow(queue.admin, ids[3]!)).toMatchObject({ progress: { value: 3 } });
  });

  test.each([
    ['that is no number', { value: '0.4' }],
    ['without one', { text: 'soon' }],
    ['with a text that is none', { value: 1, text: {} }],
    ['with a text over 1 KB', { value: 1, text: 'ä'.repeat(513) }],
    ['of another form', [1]],
  ])('%s is refused, and nothing is stored', async (_, progress) => {
    const ids = await enqueueSome(queue.admin, 2);
    const worker = await registerWorker(queue.admin);
    const [first, second] = await worker.claim({ start: 2 });
    await expect(note(worker, [reached(first!, 0.5), { ...second, progress }])).rejects.toMatchObject({
      code: '22023',
    });
    expect(await liveRow(queue.admin, ids[0]!)).toMatchObject({ progress: null });
  });

  test('of a text of 1 KB is stored', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    await note(worker, [reached(await claimOne(worker), 1, 'ä'.repeat(512))]);
    expect(await liveRow(queue.admin, id)).toMatchObject({ progress: { text: 'ä'.repeat(512) } });
  });
});

describe('a warning', () => {
  test('is an error of the task with its number, while the task runs on', async () => {
    const id = await enqueue(queue.admin, { queue: 'mail' });
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker, { queues: ['mail'] });
    const before = await liveRow(queue.admin, id);
    expect(await note(worker, [warned(task, 1, 2)])).toMatchObject([{ answer: 'recorded' }]);
    const stored = {
      ...{ id, lease_no: task.lease_no, attempt: 1, outcome: 'warned', lease_owner: worker.id },
      ...{ queue: 'mail', type: 'work', retry_at: null, ran_ms: null },
    };
    expect(await queue.admin.rows(WARNINGS)).toEqual([
      { ...stored, warning: 1, message: 'no. 1' },
      { ...stored, warning: 2, message: 'no. 2' },
    ]);
    expect(await liveRow(queue.admin, id)).toEqual(before);
  });

  test('that is sent again, as its answer was lost, is stored once', async () => {
    await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await note(worker, [warned(task, 1)]);
    await note(worker, [warned(task, 1, 2)], { repeat: true });
    expect(await queue.admin.rows(WARNINGS)).toMatchObject([{ warning: 1 }, { warning: 2 }]);
  });

  test('of a later attempt has the number of that attempt', async () => {
    await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    await worker.settle(outcome(await claimOne(worker), 'failed', { delay_ms: 0 }));
    await note(worker, [warned(await claimOne(worker), 1)]);
    expect(await queue.admin.rows(`select * from (${WARNINGS}) as w where warning > 0`)).toMatchObject([
      { attempt: 2, outcome: 'warned', warning: 1 },
    ]);
  });

  test('is not stored where no errors are kept, and lives as long as they do', async () => {
    await queue.admin.rows(`select taskq.set_queue('brief', '{"errors_retention": "none"}')`);
    await queue.admin.rows(`select taskq.set_queue('long', '{"errors_retention": "ever"}')`);
    await enqueue(queue.admin, { queue: 'brief' });
    await enqueue(queue.admin, { queue: 'long' });
    const worker = await registerWorker(queue.admin);
    const tasks = await worker.claim({ queues: ['brief', 'long'], start: 2 });
    expect(
      await note(
        worker,
        tasks.map((task) => warned(task, 1)),
      ),
    ).toMatchObject([{ answer: 'recorded' }, { answer: 'recorded' }]);
    expect(await queue.admin.rows('select queue, drop_on from taskq.task_errors')).toEqual([
      { queue: 'long', drop_on: Infinity },
    ]);
  });
});

const LOGS = `select task_id as id, lease_no, attempt, first_line, lease_owner, queue, type, lines, kept_in = drop_on as is_placed
  from taskq.task_logs order by first_line`;

function logged({ id, lease_no }: Lease, first = 1): object {
  return { id, lease_no, log: { first, lines: [{ ago_ms: 5, level: 'info', message: `line ${first}` }] } };
}

describe('the log of an attempt', () => {
  test('is stored in its partition, and shown with the times of its lines', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    expect(await note(worker, [logged(task, 41)])).toMatchObject([{ answer: 'recorded' }]);
    await note(worker, [logged(task, 42)]);
    const common = {
      ...{ id, lease_no: task.lease_no, attempt: 1, lease_owner: worker.id, queue: 'default' },
      ...{ type: 'work', is_placed: true },
    };
    expect(await queue.admin.rows(LOGS)).toMatchObject([
      { ...common, first_line: 41, lines: [{ message: 'line 41' }] },
      { ...common, first_line: 42, lines: [{ message: 'line 42' }] },
    ]);
    const shown = await queue.admin.value<{ logs: object[] }>('select taskq.show_task($1)', id);
    const line = { at: expect.any(String), level: 'info' };
    expect(shown.logs).toEqual([
      {
        ...{ attempt: 1, lease_no: task.lease_no, left_out: 40 },
        lines: [
          { ...line, message: 'line 41' },
          { ...line, message: 'line 42' },
        ],
      },
    ]);
  });

  test('that is sent again, as its answer was lost, is stored once', async () => {
    await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    await note(worker, [logged(task)]);
    await note(worker, [logged(task)], { repeat: true });
    const lines = [1, 2, 3].map((n) => ({ ago_ms: 5, level: 'info', message: `line ${n}` }));
    await note(worker, [{ id: task.id, lease_no: task.lease_no, log: { first: 1, lines } }], {
      repeat: true,
    });
    expect(await queue.admin.rows(LOGS)).toMatchObject([
      { first_line: 1, lines: [{ message: 'line 1' }] },
      { first_line: 2, lines: [{ message: 'line 2' }, { message: 'line 3' }] },
    ]);
  });

  test('of a type that keeps none is not stored', async () => {
    await queue.admin.rows(`select taskq.set_type('work', '{"keep_log": "none"}')`);
    await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    expect(await note(worker, [logged(await claimOne(worker))])).toMatchObject([{ answer: 'recorded' }]);
    expect(await queue.admin.rows(LOGS)).toEqual([]);
  });

  test('goes with its task when that is purged or discarded', async () => {
    await enqueueSome(queue.admin, 2, { retention: '1d' });
    const worker = await registerWorker(queue.admin);
    const [purged, discarded] = await worker.claim({ start: 2 });
    await note(worker, [logged(purged!), logged(discarded!)]);
    await worker.settle(outcome(purged!, 'completed'), outcome(discarded!, 'dead'));
    await queue.admin.rows('select taskq.purge(array[$1::bigint])', purged!.id);
    expect(await queue.admin.rows(LOGS)).toMatchObject([{ id: discarded!.id }]);
    await queue.admin.rows('select taskq.discard(array[$1::bigint])', discarded!.id);
    expect(await queue.admin.rows(LOGS)).toEqual([]);
  });

  test('without its partition goes to that for rows without one, and housekeeping moves it', async () => {
    await queue.admin.rows(`select taskq.set_queue('default', '{"errors_retention": "9d"}')`);
    await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    await note(worker, [logged(await claimOne(worker))]);
    expect(await queue.admin.rows(LOGS)).toMatchObject([{ is_placed: false }]);
    await queue.admin.rows('select taskq.maintain()');
    expect(await queue.admin.rows(LOGS)).toMatchObject([{ is_placed: true }]);
  });
});

describe('what is no log is refused, with 22023, and nothing of the call is stored', () => {
  const line = { ago_ms: 5, level: 'info', message: 'm' };
  test.each<[string, unknown]>([
    ['a number', 5],
    ['no first line', { lines: [line] }],
    ['a first line that is null', { first: null, lines: [line] }],
    ['a first line of 0', { first: 0, lines: [line] }],
    ['a first line that is no whole number', { first: 1.5, lines: [line] }],
    ['a first line that no integer holds', { first: 1e300, lines: [line] }],
    ['no lines', { first: 1 }],
    ['an empty list of lines', { first: 1, lines: [] }],
    ['lines that are no list', { first: 1, lines: line }],
    ['more than a hundred lines', { first: 1, lines: Array.from({ length: 101 }, () => line) }],
    ['a number as line', { first: 1, lines: [line, 1] }],
    ['null as line', { first: 1, lines: [null] }],
    ['a list as line', { first: 1, lines: [[line]] }],
    ['a line without a message', { first: 1, lines: [{ ago_ms: 5, level: 'info' }] }],
    ['a message that is no text', { first: 1, lines: [{ ...line, message: 5 }] }],
    ['a line without a level', { first: 1, lines: [{ ago_ms: 5, message: 'm' }] }],
    ['a level that is no text', { first: 1, lines: [{ ...line, level: {} }] }],
    ['an age that is text', { first: 1, lines: [{ ...line, ago_ms: 'soon' }] }],
    ['an age that is null', { first: 1, lines: [{ ...line, ago_ms: null }] }],
    ['an age that no interval holds', { first: 1, lines: [{ ...line, ago_ms: 1e300 }] }],
    ['an age below 0', { first: 1, lines: [{ ...line, ago_ms: -1 }] }],
    ['trims that is text', { first: 1, lines: [line], trims: 'yes' }],
  ])('%s', async (_, log) => {
    await enqueueSome(queue.admin, 2);
    const worker = await registerWorker(queue.admin);
    const [bad, good] = await worker.claim({ start: 2 });
    const { id, lease_no } = bad!;
    await expect(
      note(worker, [
        { ...logged(good!), ...reached(good!, 1) },
        { id, lease_no, log },
      ]),
    ).rejects.toMatchObject({
      code: '22023',
      message: expect.stringMatching(/^log .*: expected first, a whole number, and 1 to 100 lines/),
    });
    expect(await queue.admin.rows(LOGS)).toEqual([]);
    expect(await queue.admin.value('select taskq.show_task($1)', id)).toMatchObject({ logs: [] });
  });

  test('fields may be anything, and log null', async () => {
    await enqueueSome(queue.admin, 2);
    const worker = await registerWorker(queue.admin);
    const [one, other] = await worker.claim({ start: 2 });
    const { id, lease_no } = one!;
    const lines = [null, 5, 'cut…', [1], { a: { b: 1 } }].map((fields) => ({ ...line, fields }));
    await note(worker, [
      { id, lease_no, log: { first: 1, lines: [...lines, { level: 'info', message: '' }] } },
      { id: other!.id, lease_no: other!.lease_no, log: null },
    ]);
    const { logs } = await queue.admin.value<{ logs: { lines: object[] }[] }>(
      'select taskq.show_task($1)',
      id,
    );
    expect(logs[0]!.lines).toHaveLength(6);
  });
});

describe('a worker without the lease', () => {
  test('changes nothing, whoever has the task now, and is told that it is lost', async () => {
    const ids = await enqueueSome(queue.admin, 4);
    const [zombie, other] = [await registerWorker(queue.admin), await registerWorker(queue.admin)];
    const tasks = await zombie.claim({ start: 4 });
    await lapse(queue.admin, ids.slice(0, 2));
    await rescueAll(queue.admin, zombie.id);
    await zombie.giveBack([tasks[2]!]);
    await zombie.settle(outcome(tasks[3]!, 'completed'));
    const taken = await claimOne(other);
    const before = await queue.admin.rows('select * from taskq.tasks order by id');
    const errors = await queue.admin.rows('select * from taskq.task_errors');
    const notes = tasks.map((task) => ({ ...reached(task, 0.9), ...warned(task, 1), ...logged(task) }));
    expect((await note(zombie, notes)).map(({ answer }) => answer)).toEqual(['lost', 'lost', 'lost', 'lost']);
    // Nor with the number of a lease that another worker has.
    expect(await note(zombie, [{ ...reached(taken, 0.9), ...warned(taken, 1) }])).toMatchObject([
      { answer: 'lost' },
    ]);
    expect(await queue.admin.rows('select * from taskq.tasks order by id')).toEqual(before);
    expect(await queue.admin.rows('select * from taskq.task_errors')).toEqual(errors);
    expect(await queue.admin.rows(LOGS)).toEqual([]);
    expect(await note(other, [reached(taken, 0.1)])).toMatchObject([{ answer: 'recorded' }]);
  });

  test('that has taken the task again writes under its new lease alone', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const old = await claimOne(worker);
    await lapse(queue.admin, [id]);
    await rescueAll(queue.admin, worker.id);
    const current = await claimOne(worker);
    const answers = await note(worker, [reached(old, 0.9), reached(current, 0.1)]);
    expect(Object.fromEntries(answers.map(({ lease_no, answer }) => [lease_no, answer]))).toEqual({
      [old.lease_no]: 'lost',
      [current.lease_no]: 'recorded',
    });
    expect(await liveRow(queue.admin, id)).toMatchObject({ progress: { value: 0.1 } });
  });
});

test('a row that another transaction has locked is busy, at once; the others are stored', async () => {
  const ids = await enqueueSome(queue.admin, 2);
  const worker = await registerWorker(await queue.session());
  const tasks = await worker.claim({ start: 2 });
  await worker.session.rows("set statement_timeout = '20s'");
  await queue.admin.rows('begin');
  await queue.admin.rows("update taskq.tasks set tags = '{}' where id = $1", ids[0]);
  const notes = tasks.map((task) => ({ ...reached(task, 0.5), ...warned(task, 1) }));
  expect(await note(worker, notes)).toMatchObject([{ answer: 'busy' }, { answer: 'recorded' }]);
  await queue.admin.rows('commit');
  expect(await queue.admin.rows(WARNINGS)).toMatchObject([{ id: ids[1] }]);
  expect(await note(worker, notes.slice(0, 1))).toMatchObject([{ answer: 'recorded' }]);
  expect(await liveRow(queue.admin, ids[0]!)).toMatchObject({ progress: { value: 0.5 } });
});

test('a task whose notes a trigger refuses keeps no other from storing its own', async () => {
  const ids = await enqueueSome(queue.admin, 3);
  const worker = await registerWorker(queue.admin);
  const tasks = await worker.claim({ start: 3 });
  await queue.admin.rows(`
    create function public.refuse() returns trigger language plpgsql as $$ begin raise 'not this one'; end $$`);
  await queue.admin.rows(
    `create trigger refuses before update of progress on taskq.tasks for each row when (new.id = ${ids[1]}) execute function public.refuse()`,
  );
  expect(
    await note(
      worker,
      tasks.map((task) => reached(task, 0.5)),
    ),
  ).toMatchObject([
    { answer: 'recorded' },
    { answer: 'refused', extra: { error: 'not this one', code: 'P0001' } },
    { answer: 'recorded' },
  ]);
});

test('a table that others have locked keeps notes waiting for two seconds in all, and none is dropped', async () => {
  await enqueueSome(queue.admin, 10);
  const worker = await registerWorker(await queue.session());
  const notes = (await worker.claim({ start: 10 })).map((task) => logged(task));
  await queue.admin.rows('begin');
  await queue.admin.rows('lock table taskq.task_logs in share mode');
  const began = performance.now();
  const answers = await note(worker, notes);
  expect(performance.now() - began).toBeLessThan(6000);
  expect(answers.map(({ answer }) => answer)).toEqual(notes.map(() => 'busy'));
  expect(await note(worker, notes.slice(0, 1))).toMatchObject([{ answer: 'busy', extra: null }]);
  await queue.admin.rows('rollback');
  expect((await note(worker, notes)).map(({ answer }) => answer)).toEqual(notes.map(() => 'recorded'));
});

test('notes of a thousand tasks on a drained table that was never analyzed read no more than theirs', async () => {
  await queue.admin.rows('analyze taskq.tasks');
  const worker = await registerWorker(queue.admin);
  await enqueueSome(queue.admin, 3000);
  const tasks = await worker.claim({ start: 1000 });
  const began = performance.now();
  await note(
    worker,
    tasks.map((task) => ({ ...reached(task, 0.5), ...warned(task, 1) })),
  );
  expect(performance.now() - began).toBeLessThan(5000);
  expect(await queue.admin.value('select count(*)::int from taskq.tasks where progress is not null')).toBe(
    1000,
  );
  expect(await queue.admin.value('select count(*)::int from taskq.task_errors')).toBe(1000);
});

test('an unknown option is refused', async () => {
  const worker = await registerWorker(queue.admin);
  await expect(note(worker, [], { all: true })).rejects.toMatchObject({ code: '22023' });
});
