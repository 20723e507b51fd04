import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { insertOddRows } from '../queue/odd-rows.ts';
import { sessionOf } from '../queue/session.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

async function handlers(): Promise<string> {
  const directory = await temporaryDirectory();
  await writeFile(join(directory, 'succeed.mjs'), 'export default () => true;');
  await writeFile(join(directory, 'fail.mjs'), "export default () => { throw new Error('no'); };");
  return directory;
}

/** Due tasks that have not been tried. */
const UNTRIED =
  'select * from taskq.tasks where attempts = 0 and available_at <= clock_timestamp() order by id limit 5';

test('whatever a row says, a worker works: each ends or is tried, and the tasks beside them complete', async () => {
  const session = sessionOf(await queue.session());
  const neighbours = await queue.enqueueSome(50, 'succeed');
  const odd = await insertOddRows(session, ['succeed', 'fail']);
  const more = await queue.enqueueSome(50, 'succeed');
  const worker = queue.work(['--concurrency', '20'], { handlers: await handlers() });
  await until(
    async () => (await queue.rows(UNTRIED)).length === 0,
    async () => JSON.stringify(await queue.rows(UNTRIED)),
  );
  const completed =
    "select count(*)::int from taskq.finished_tasks where status = 'completed' and id = any ($1)";
  expect(await queue.value(completed, [...neighbours, ...more])).toBe(100);

  // The worker is not stuck, and nothing was refused: a task that comes now completes as well.
  const late = await queue.enqueue('succeed');
  await queue.hasStatus(late, 'completed');
  expect(eventsOf(worker, 'statement.failed')).toEqual([]);
  expect(eventsOf(worker, 'outcome.refused')).toEqual([]);

  // Each outcome that could not be stored is logged by id.
  const dead = await queue.rows<{ id: string }>(
    "select id from taskq.dead_tasks where reason = 'outcome_not_stored' order by id",
  );
  const named = eventsOf(worker, 'outcome.not_stored').map((line) => line.task_id);
  expect(named.toSorted()).toEqual(dead.map(({ id }) => id).toSorted());
  const columns = odd.filter(({ id }) => named.includes(id)).map(({ column }) => column);
  expect(new Set(columns)).toEqual(new Set(['backoff']));
  worker.kill('SIGTERM');
  expect(await worker.exit).toMatchObject({ code: 0 });
});

test('a task whose outcome a trigger refuses is left to its lease, and the tasks beside it complete', async () => {
  await queue.rows(`create function forbid() returns trigger language plpgsql as $$
    begin
      raise exception 'not this one' using errcode = 'check_violation', constraint = 'theirs';
    end
  $$`);
  await queue.rows(
    `create trigger forbid before delete on taskq.tasks
     for each row when (old.priority = 0) execute function forbid()`,
  );
  const [bad] = await queue.enqueueSome(1, 'succeed', {}, { priority: 0 });
  await queue.enqueueSome(20, 'succeed');
  const worker = queue.work([], { handlers: await handlers() });
  expect(await worker.waitForLog(event('outcome.refused'))).toMatchObject({ task_id: bad });
  await until(
    async () => (await queue.value('select count(*)::int from taskq.tasks')) === 1,
    async () => JSON.stringify(await queue.rows('select * from taskq.tasks')),
  );
  expect(await queue.task(bad!)).toMatchObject({ status: 'running', losses: 0 });
  worker.kill('SIGTERM');
  expect(await worker.exit).toMatchObject({ code: 0 });
});

test.each([1, 20])(
  'ones that cannot be claimed are named and stay, and the tasks behind them complete (%i slots)',
  async (slots) => {
    await queue.rows(`create function forbid() returns trigger language plpgsql as $$
      begin
        raise exception 'not this one' using errcode = 'AB123';
      end
    $$`);
    await queue.rows(
      `create trigger forbid before update on taskq.tasks
       for each row when (old.payload ? 'poison') execute function forbid()`,
    );
    const bad = await queue.enqueueSome(3, 'succeed', { poison: true });
    const others = await queue.enqueueSome(50, 'succeed');
    const worker = queue.work(['--concurrency', String(slots)], { handlers: await handlers() });
    for (const id of others) await queue.hasStatus(id, 'completed');
    expect(await queue.rows('select id, status, lease_no from taskq.tasks order by id')).toEqual(
      bad.map((id) => ({ id, status: 'pending', lease_no: 0 })),
    );
    expect(eventsOf(worker, 'task.refused')).toMatchObject(
      bad.map((id) => ({ task_id: id, error: { message: 'not this one (SQLSTATE AB123)' } })),
    );
    await queue.rows('drop trigger forbid on taskq.tasks');
    for (const id of bad) await queue.hasStatus(id, 'completed');
    worker.kill('SIGTERM');
    expect(await worker.exit).toMatchObject({ code: 0 });
  },
);

test('one whose payload was made larger than 1 MB by hand is named and stays, and the tasks behind it complete', async () => {
  const large = await queue.enqueue('succeed', {});
  const others = await queue.enqueueSome(20, 'succeed');
  await queue.rows("update taskq.tasks set payload = to_jsonb(repeat('x', 2000000)) where id = $1", large);
  const worker = queue.work([], { handlers: await handlers() });
  for (const id of others) await queue.hasStatus(id, 'completed');
  expect(await queue.task(large)).toMatchObject({ status: 'pending', lease_no: 0 });
  expect(await worker.waitForLog(event('task.refused'))).toMatchObject({
    task_id: large,
    error: { message: expect.stringContaining('a_payload_has_at_most_1_mb_of_text') },
  });
  await queue.rows("update taskq.tasks set payload = '{}' where id = $1", large);
  await queue.hasStatus(large, 'completed');
  worker.kill('SIGTERM');
  expect(await worker.exit).toMatchObject({ code: 0 });
});

test('one whose lease cannot be renewed is named, and costs no other its lease', async () => {
  const first = await queue.enqueueSome(3, 'wait', { ms: 60_000 });
  const bad = await queue.enqueue('wait', { ms: 60_000, poison: true });
  const one = queue.work([]);
  for (const id of [...first, bad]) await queue.hasStatus(id, 'running');
  await queue.rows(`create function forbid() returns trigger language plpgsql as $$
    begin
      raise exception 'not this one' using errcode = 'AB123';
    end
  $$`);
  await queue.rows(
    `create trigger forbid before update on taskq.tasks
     for each row when (old.payload ? 'poison' and old.lease_owner = new.lease_owner) execute function forbid()`,
  );
  const other = queue.work([]);
  expect(await one.waitForLog(event('task.refused'))).toMatchObject({
    task_id: bad,
    type: 'wait',
    error: { message: 'not this one (SQLSTATE AB123)' },
  });
  // Each lease but that one is renewed beyond the length it was claimed for.
  const renewed = `select count(*)::int from taskq.tasks
    where id = any ($1) and lease_expires_at > started_at + interval '6 s'`;
  await until(
    async () => (await queue.value(renewed, first)) === 3,
    async () => JSON.stringify(await queue.rows('select * from taskq.tasks')),
  );
  expect(await queue.rows('select distinct status, losses from taskq.tasks')).toEqual([
    { status: 'running', losses: 0 },
  ]);
  expect(eventsOf(one, 'statement.failed')).toEqual([]);
  expect(eventsOf(one, 'task.refused')).toHaveLength(1);
  expect(eventsOf(other, 'task.rescued')).toEqual([]);
  for (const worker of [one, other]) {
    worker.kill('SIGKILL');
    await worker.exit;
  }
});

/** Adds a trigger, as an application might, that refuses the finished rows of tasks with poison. */
async function forbidPoison(statement: string): Promise<void> {
  await queue.rows(`create function forbid() returns trigger language plpgsql as $$
    begin
      if new.payload ? 'poison' then ${statement}; end if;
      return new;
    end
  $$`);
  await queue.rows(
    'create trigger forbid before insert on taskq.finished_tasks for each row execute function forbid()',
  );
}

describe('one that an application does not let finish is a dead letter, and the tasks beside it complete', () => {
  test.each([
    ['as a check would', "raise exception 'not you' using errcode = 'check_violation'", '23514', 'not you'],
    ['with a state of its own', "raise exception 'not you' using errcode = 'AB123'", 'AB123', 'not you'],
    ['by a fault', 'perform no_such_function()', '42883', 'function no_such_function() does not exist'],
  ])('%s', async (_, statement, code, problem) => {
    await forbidPoison(statement);
    const [bad] = await queue.enqueueSome(1, 'succeed', { poison: true });
    await queue.enqueueSome(19, 'succeed');
    const worker = queue.work(['--until-idle'], { handlers: await handlers() });
    expect(await worker.exit).toMatchObject({ code: 0 });
    expect(await queue.value('select count(*)::int from taskq.finished_tasks')).toBe(19);
    expect(await queue.task(bad!)).toMatchObject({
      status: 'dead',
      reason: 'outcome_not_stored',
      error: { name: 'OutcomeNotStored', code, message: expect.stringContaining(problem) },
    });

    // The counts and log lines match what was recorded.
    expect(eventsOf(worker, 'worker.stopped')).toMatchObject([
      { completed: 19, died: 1, failed: 0, lost: 0 },
    ]);
    expect(eventsOf(worker, 'outcome.not_stored')).toMatchObject([
      { task_id: bad, error: { message: `${problem} (SQLSTATE ${code})` } },
    ]);
    expect(eventsOf(worker, 'task.died')).toMatchObject([{ task_id: bad, reason: 'outcome_not_stored' }]);
  });
});

describe('one that is refused again and again, as if that might pass, is kept, and the tasks beside it complete', () => {
  test.each([
    ['as a conflict would', '40001'],
    ['as a lock would', '55P03'],
    ['as a connection that a trigger opens elsewhere would', '08001'],
  ])('%s', async (_, code) => {
    await forbidPoison(`raise exception 'not now' using errcode = '${code}'`);
    const [bad] = await queue.enqueueSome(1, 'succeed', { poison: true });
    await queue.enqueueSome(19, 'succeed');
    const worker = queue.work([], { handlers: await handlers() });
    await until(
      async () => (await queue.value('select count(*)::int from taskq.finished_tasks')) === 19,
      async () => JSON.stringify(await queue.rows('select * from taskq.tasks')),
    );
    const late = await queue.enqueue('succeed');
    await queue.hasStatus(late, 'completed');
    expect(await queue.task(bad!)).toMatchObject({ status: 'running', losses: 0 });
    expect(eventsOf(worker, 'outcome.not_stored')).toEqual([]);

    await queue.rows('drop trigger forbid on taskq.finished_tasks');
    await queue.hasStatus(bad!, 'completed');
    expect(await queue.task(bad!)).toMatchObject({ losses: 0, attempts: 0 });
    worker.kill('SIGTERM');
    expect(await worker.exit).toMatchObject({ code: 0 });
  });
});

test('a type whose outcomes are all refused as conflicts keeps no other from running, and runs again after that', async () => {
  await forbidPoison("raise exception 'not now' using errcode = 'serialization_failure'");
  const directory = await handlers();
  await writeFile(join(directory, 'poisoned.mjs'), 'export default () => true;');
  await queue.enqueueSome(60, 'poisoned', { poison: true }, { priority: 0 });
  const neighbours = await queue.enqueueSome(20, 'succeed');
  const worker = queue.work(['--concurrency', '10'], { handlers: directory });
  for (const id of neighbours) await queue.hasStatus(id, 'completed');
  await queue.hasStatus(await queue.enqueue('succeed'), 'completed');
  await queue.rows('drop trigger forbid on taskq.finished_tasks');
  await queue.drained();
  expect(await queue.counts()).toEqual({ completed: 81 });
  worker.kill('SIGTERM');
  expect(await worker.exit).toMatchObject({ code: 0 });
});

test('one that no partition takes waits for it, and the tasks beside it complete', async () => {
  await queue.rows('alter table taskq.finished_tasks detach partition taskq.finished_tasks_unplaced');
  const holder = await queue.session();
  await holder.query('begin; lock table taskq.finished_tasks in share update exclusive mode');
  const [homeless] = await queue.enqueueSome(1, 'succeed', {}, { retention: '3333d' });
  await queue.enqueueSome(19, 'succeed');
  const worker = queue.work([], { handlers: await handlers() });
  await until(
    async () => (await queue.value('select count(*)::int from taskq.finished_tasks')) === 19,
    async () => JSON.stringify(await queue.rows('select * from taskq.tasks')),
  );
  const late = await queue.enqueue('succeed');
  await queue.hasStatus(late, 'completed');
  expect(await queue.task(homeless!)).toMatchObject({ status: 'running', losses: 0 });

  await holder.query('commit');
  await queue.hasStatus(homeless!, 'completed');
  expect(await queue.task(homeless!)).toMatchObject({ losses: 0 });
  worker.kill('SIGTERM');
  expect(await worker.exit).toMatchObject({ code: 0 });
});
