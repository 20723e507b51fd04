import { expect, test } from 'vitest';
import { insertOddCounts, insertOddGrouped, insertOddRows, type OddRow } from './odd-rows.ts';
import { enqueueSome, lapse, type Row, rescueAll, silence } from './rows.ts';
import { useDatabase } from './session.ts';
import { type Claimed, LEASE_MS, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

/** Every one of them that is due, however many queues they made up. */
async function claimAll(worker: PlainWorker): Promise<Claimed[]> {
  const queues = await queue.admin.rows<{ queue: string }>('select distinct queue from taskq.tasks');
  return worker.claim({ queues: queues.map((row) => row.queue), start: 500, ahead: 500 });
}

async function oddOnes(): Promise<{ odd: OddRow[]; worker: PlainWorker; claimed: Claimed[]; ids: string[] }> {
  const odd = await insertOddRows(queue.admin, ['work']);
  const neighbours = await enqueueSome(queue.admin, 10);
  await queue.admin.rows('select taskq.expire(1000)');
  await queue.admin.rows(
    "select taskq.rescue(0, 1000000, null, '{}', jsonb_build_object('clock_was', clock_timestamp() + interval '1 h'))",
  );
  const worker = await registerWorker(queue.admin);
  const claimed = await claimAll(worker);
  const ids = claimed.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(neighbours));
  expect(ids.length).toBeGreaterThan(odd.length);
  return { odd, worker, claimed, ids };
}

test('any row is claimed, rescued, given back and retried like the others', async () => {
  const { worker, claimed, ids } = await oddOnes();
  expect(await worker.heartbeat(claimed)).toHaveLength(ids.length);
  await silence(queue.admin, worker.id, 2 * LEASE_MS);
  await lapse(queue.admin, ids);
  const rescued = await rescueAll(queue.admin);
  expect(rescued.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());

  // One with a time of a request to cancel has ended.
  const waiting = rescued.filter(({ status }) => status === 'pending');
  expect(waiting.length).toBeGreaterThan(ids.length - 10);
  const again = await claimAll(worker);
  expect(again).toHaveLength(waiting.length);
  const given = await worker.giveBack(again);
  expect(new Set(given.map(({ answer }) => answer))).toEqual(new Set(['recorded']));

  const third = await claimAll(worker);
  expect(third).toHaveLength(waiting.length);
  const failed = await worker.settle(
    ...third.map((task) => outcome(task, 'failed', { error: { name: 'E' } })),
  );
  expect(failed).toHaveLength(waiting.length);
  expect(new Set(failed.map(({ answer }) => answer))).toEqual(new Set(['recorded']));
});

test.each(['completed', 'dead', 'snoozed', 'cancelled'])(
  'an odd row does not keep others from being %s',
  async (kind) => {
    const { worker, claimed } = await oddOnes();
    const answers = await worker.settle(...claimed.map((task) => outcome(task, kind, { reason: 'r' })));
    expect(answers).toHaveLength(claimed.length);
    expect(new Set(answers.map(({ answer }) => answer))).toEqual(new Set(['recorded']));
  },
);

test('a task whose back-off cannot be evaluated becomes a dead letter that says so, but only at a retry', async () => {
  const { odd, worker, claimed } = await oddOnes();
  const answers = await worker.settle(
    ...claimed.map((task) => outcome(task, 'failed', { error: { name: 'E' } })),
  );
  const dead = answers.filter(({ extra }) => extra?.reason === 'outcome_not_stored').map(({ id }) => id);
  const backoffs = odd
    .filter(({ id, column }) => column === 'backoff' && dead.includes(id))
    .map(({ value }) => value);
  expect(backoffs).toHaveLength(dead.length);
  expect(backoffs).toEqual(
    expect.arrayContaining(['\'{"base_ms":"5s"}\'', '\'{"max_ms":"1h"}\'', "'[]'", '\'"5s"\'']),
  );
  const [row] = await queue.admin.rows<Row>(
    'select error, attempts from taskq.dead_tasks where id = $1',
    dead[0],
  );
  expect(row).toMatchObject({
    attempts: 1,
    error: {
      name: 'OutcomeNotStored',
      message: 'the back-off of the task cannot be evaluated',
      cause: { name: 'E' },
    },
  });
  const due = 'select min(available_at) >= min(created_at) from taskq.tasks where attempts = 1';
  expect(await queue.admin.value(due)).toBe(true);
});

test('whatever its counts say, a task is claimed, rescued, given back and ended, and stops no other', async () => {
  const odd = (await insertOddCounts(queue.admin, ['work'])).map(({ id }) => id);
  const all = [...odd, ...(await enqueueSome(queue.admin, 10))].toSorted();
  const worker = await registerWorker(queue.admin);
  /** One that is to come alone ends a claim. */
  const claimEach = async (): Promise<Claimed[]> => {
    const claimed: Claimed[] = [];
    for (let more = [undefined!] as Claimed[]; more.length > 0; claimed.push(...more))
      more = await worker.claim({ start: 500 });
    return claimed;
  };
  const first = await claimEach();
  expect(first.map(({ id }) => id).toSorted()).toEqual(all);
  await silence(queue.admin, worker.id, 2 * LEASE_MS);
  await lapse(queue.admin, all);
  const rescued = await rescueAll(queue.admin);
  expect(rescued.map(({ id }) => id).toSorted()).toEqual(all);
  expect(rescued.filter(({ status }) => status === 'refused')).toEqual([]);
  // Nothing is recorded under the lost lease.
  const late = await worker.settle(...first.map((task) => outcome(task, 'completed')));
  expect(new Set(late.map(({ answer }) => answer))).toEqual(new Set(['lost']));

  const given = await worker.giveBack(await claimEach());
  expect(given.length).toBeGreaterThan(10);
  expect(new Set(given.map(({ answer }) => answer))).toEqual(new Set(['recorded']));
  const last = await claimEach();
  expect(last.length).toBeGreaterThan(10);
  const ended = await worker.settle(
    ...last.map((task, n) => outcome(task, n % 2 === 0 ? 'completed' : 'failed', { error: { name: 'E' } })),
  );
  expect(new Set(ended.map(({ answer }) => answer))).toEqual(new Set(['recorded']));
});

test.each(['w', 'd'] as const)(
  'whatever a task of a group (gate %s) says, it is retried, fails and is edited beside others',
  async (gate) => {
    await queue.admin.rows(
      `select taskq.set_queue('default', '{"group_order": "relaxed", "group_limit": 5000}')`,
    );
    const odd = await insertOddGrouped(queue.admin, 'work', gate);
    expect(odd.length).toBeGreaterThan(100);
    await lookAtAll();
    await queue.admin.rows("select taskq.pause_group('default', 'g')");
    await lookAtAll();
    await queue.admin.rows("select taskq.resume_group('default', 'g')");
    const ids = [...odd.map(({ id }) => id), ...(await enqueueSome(queue.admin, 10, { group: 'g' }))];
    const retried = await queue.admin.rows<Row>('select * from taskq.retry($1)', ids);
    expect(new Set(retried.map(({ answer }) => answer))).toEqual(new Set(['retried', 'due']));
    await queue.admin.rows(
      "insert into taskq.asks (due_at, queue, key) select distinct now(), queue, 'g' from taskq.tasks",
    );
    const worker = await registerWorker(queue.admin);
    const claimed: Claimed[] = [];
    for (let more = await claimAll(worker); more.length > 0; more = await claimAll(worker))
      claimed.push(...more);
    const waiting = await queue.admin.rows(
      'select * from taskq.tasks where lease_owner is null and not_before <= now()',
    );
    expect(waiting).toEqual([]);
    const failed = await worker.settle(
      ...claimed.map((task) => outcome(task, 'failed', { error: { name: 'E' } })),
    );
    expect(failed).toHaveLength(claimed.length);
    expect(new Set(failed.map(({ answer }) => answer))).toEqual(new Set(['recorded']));
    const edited = await queue.admin.rows<Row>(`select * from taskq.edit($1, '{"delay_ms": 1000}')`, ids);
    expect(edited.filter(({ answer }) => answer === 'refused')).toEqual([]);
  },
);

test('a dead letter has a time of death, by which it is listed', async () => {
  const [id] = await enqueueSome(queue.admin, 1);
  await queue.admin.rows("select taskq.add_dead($1, 'by hand')", id);
  for (const time of ['-infinity', 'infinity', '294276-12-01']) {
    const set = queue.admin.rows('update taskq.dead_tasks set died_at = $1', time);
    await expect(set).rejects.toMatchObject({ constraint: 'a_death_has_a_time' });
  }
});

test('a last day that is no usual one, of a finished task, stops no housekeeping', async () => {
  const [id] = await enqueueSome(queue.admin, 1);
  await queue.admin.rows('select * from taskq.cancel($1)', [id]);
  await queue.admin.rows("update taskq.finished_tasks set drop_on = '5874897-12-31', kept_in = '-infinity'");
  expect(await queue.admin.value('select taskq.maintain()')).toMatchObject({ failed: [] });
});

/** Reads everything there is to read, as the housekeeper, `taskq` and its server do, and fails where one cannot. */
async function lookAtAll(): Promise<void> {
  const readings = [
    'select * from taskq.all_tasks',
    'select taskq.take_sample()',
    "select taskq.claim_context('{work}')",
    'select taskq.get_vitals()',
    "select * from taskq.count_unfinished(array['work'])",
    "select * from taskq.find_missed(array(select distinct queue from taskq.tasks), '{work}')",
    'select taskq.stats(86400000)',
    'select taskq.get_series(86400000)',
    "select * from taskq.list_metrics('minute', 86400000, 1000)",
    'select * from taskq.list_queues()',
    'select * from taskq.list_types()',
    'select q.name, g.* from (select distinct queue as name from taskq.tasks) q, taskq.list_groups(q.name) g',
    'select * from taskq.list_dead_groups()',
    'select * from taskq.list_keys()',
    'select * from taskq.list_workers()',
    'select taskq.fold_counts()',
    "select * from taskq.find_tasks('{}', 1000)",
    "select * from taskq.find_ids('{}')",
    'select taskq.show_task(id) from taskq.all_tasks',
    'select taskq.explain(id) from taskq.all_tasks',
    'select taskq.follow_task(id) from taskq.all_tasks',
    'select * from taskq.get_ends(array(select id from taskq.all_tasks))',
  ];
  const failures: string[] = [];
  for (const reading of readings) {
    try {
      await queue.admin.rows(reading);
    } catch (error) {
      failures.push(`${reading}: ${String(error)}`);
    }
  }
  expect(failures).toEqual([]);
  expect(await queue.admin.value('select taskq.maintain()')).toMatchObject({ failed: [] });
}

test('whatever a row says, it can be looked at while it waits, while it runs, and when it has ended', async () => {
  const { worker, claimed } = await oddOnes();
  await insertOddCounts(queue.admin, ['work']);
  await insertOddRows(queue.admin, ['work']);
  await lookAtAll();
  await worker.heartbeat(claimed.map((task) => ({ ...task, started_ms: 0 })));
  await claimAll(worker);
  await lookAtAll();
  await worker.settle(
    ...claimed.map((task, n) => outcome(task, n % 2 === 0 ? 'completed' : 'dead', { reason: 'r' })),
  );
  await lookAtAll();
});

test('one that was put in under the id of a dead letter dies under an id of its own, and stops no rescue', async () => {
  const [first, other] = await enqueueSome(queue.admin, 2);
  await queue.admin.rows("select taskq.add_dead($1, 'by hand')", first);
  await queue.admin.rows(
    `insert into taskq.tasks (id, type, available_at, not_before, created_at, losses)
     values ($1, 'work', clock_timestamp(), clock_timestamp(), clock_timestamp(), 2)`,
    first,
  );
  const worker = await registerWorker(queue.admin);
  const tasks = await worker.claim({ start: 2 });
  await worker.heartbeat(tasks.map((task) => ({ ...task, started_ms: 0 })));
  await silence(queue.admin, worker.id, 2 * LEASE_MS);
  await lapse(queue.admin, [first!, other!]);
  expect(await rescueAll(queue.admin)).toMatchObject([
    { id: first, status: 'dead' },
    { id: other, status: 'pending' },
  ]);
  const dead = await queue.admin.rows('select id, reason from taskq.dead_tasks order by id');
  expect(dead).toEqual([
    { id: first, reason: 'by hand' },
    { id: expect.not.stringMatching(`^(${first}|${other})$`), reason: 'worker_lost' },
  ]);
});
