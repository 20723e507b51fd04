import { tmpdir } from 'node:os';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type Completed, outcomeOf } from '../../src/domain/outcome.ts';
import type { ClaimedTask } from '../../src/domain/task.ts';
import { openDatabase, type Queryable } from '../../src/lib/database.ts';
import { Attempt } from '../../src/worker/attempt/attempt.ts';
import { PromisedClaim } from '../../src/worker/claim/promised-claim.ts';
import type { StartedTask } from '../../src/worker/lease/held-task.ts';
import { LeaseTable } from '../../src/worker/lease/lease-table.ts';
import { Ledger } from '../../src/worker/lease/ledger.ts';
import { Reporter } from '../../src/worker/settle/reporter.ts';
import { enqueueSome, lapse, liveRow, rescueAll, silence } from './rows.ts';
import { useDatabase } from './session.ts';
import { waitUntilBlocked } from './waiting.ts';
import { registerWorker } from './worker.ts';

const LOCK = 'select from taskq.tasks where id = $1 for update';

const queue = useDatabase();

let ended: AbortController;
beforeEach(() => {
  ended = new AbortController();
});
afterEach(() => ended.abort());

/** Tasks that a worker has claimed, and what reports them by way of `db`. */
async function holding(
  db: Queryable = queue.admin,
  count = 2,
  { canBeFollowed = false, groupKey = null as string | null } = {},
) {
  await enqueueSome(queue.admin, count);
  const worker = await registerWorker(queue.admin);
  const ledger = new Ledger(new LeaseTable(count));
  const tasks = (await worker.claim({ start: count })).map(
    ({ id, lease_no: leaseNo }) => ({ id, leaseNo, type: 'work', losses: 0, groupKey }) as ClaimedTask,
  );
  ledger.claimed(ledger.reserve(count)!, tasks, 0);
  const ends: string[] = [];
  const kinds: string[] = [];
  const troubles: unknown[] = [];
  const reporter = new Reporter(
    { db, pipeline: { query: (s) => db.query(s), canBeFollowed }, workerId: worker.id },
    ledger,
    {
      outcomes: {
        promised: new PromisedClaim(),
        onSettled: ({ id, outcome }, { answer }) => {
          ends.push(`${answer} ${id}`);
          kinds.push(outcome.kind);
        },
        onNotStored: ({ id }) => ends.push(`not stored ${id}`),
        onRefused: ({ id }) => ends.push(`refused ${id}`),
      },
      notes: {
        keepsLogOf: () => false,
        onNoteRefused: ({ id }) => ends.push(`notes refused ${id}`),
      },
      onGivenBack: ({ id }) => ends.push(`given back ${id}`),
      onStatementFailed: (error) => troubles.push(error),
      onSent: () => {},
      onSending: (outcomes, isFollowed) => isFollowed && ends.push(`on its way ${outcomes[0]!.id}`),
    },
  );
  const held = ledger.held();
  return { worker, ledger, reporter, ends, kinds, troubles, held, ids: held.map(({ id }) => id) };
}

test('outcomes and tasks to be given back go to the database, and the ledger is empty when all are answered', async () => {
  const { ledger, reporter, ends, held, ids } = await holding();
  ledger.report(held[0]!, outcomeOf({ kind: 'returned', value: 1 }), 5);
  ledger.release(held[1]!);
  void reporter.run(ended.signal);
  await ledger.untilEmpty();
  expect(ends.toSorted()).toEqual([`given back ${ids[1]}`, `recorded ${ids[0]}`]);
  expect(await liveRow(queue.admin, ids[1]!)).toMatchObject({ status: 'pending', releases: 0 });
});

test('an outcome of a group has its effect on claims when it is sent, where they can follow it; its answer has none', async () => {
  let failures = 1;
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const db: Queryable = {
    async query(statement) {
      await gate;
      if (failures-- > 0) throw new Error('the connection is gone');
      return queue.admin.query(statement);
    },
  };
  const { ledger, reporter, ends, held, ids } = await holding(db, 1, { canBeFollowed: true, groupKey: 'g' });
  ledger.report(held[0]!, outcomeOf({ kind: 'returned', value: 1 }), 5);
  void reporter.run(ended.signal);
  expect(await reporter.hasEffectsBeyond(0, 60_000, ended.signal)).toBe(true);
  expect(ends).toEqual([`on its way ${ids[0]}`]);
  open();
  await ledger.untilEmpty();
  expect(ends).toEqual([`on its way ${ids[0]}`, `on its way ${ids[0]}`, `recorded ${ids[0]}`]);
  // Sent, failed, sent again.
  expect(reporter.effects).toBe(3);
  expect(await reporter.hasEffectsBeyond(3, 60_000, ended.signal)).toBe(false);
});

test('one without a group, or that claims cannot follow, has its effect when it is answered', async () => {
  for (const how of [{ groupKey: 'g' }, { canBeFollowed: true }]) {
    const { ledger, reporter, ends, held, ids } = await holding(queue.admin, 1, how);
    ledger.report(held[0]!, outcomeOf({ kind: 'returned', value: 1 }), 5);
    void reporter.run(ended.signal);
    expect(await reporter.hasEffectsBeyond(0, 60_000, ended.signal)).toBe(true);
    expect(ends).toEqual([`recorded ${ids[0]}`]);
    expect(reporter.effects).toBe(1);
  }
});

test('what the database does not answer is sent again until it does', async () => {
  let failures = 2;
  const { ledger, reporter, ends, troubles, held, ids } = await holding({
    async query(statement) {
      if (failures-- > 0) throw new Error('the connection is gone');
      return queue.admin.query(statement);
    },
  });
  for (const task of held) ledger.release(task);
  void reporter.run(ended.signal);
  await ledger.untilEmpty();
  expect(troubles).toHaveLength(2);
  expect(ends.toSorted()).toEqual(ids.map((id) => `given back ${id}`).toSorted());
});

test('a task whose answer was lost is not counted as a lost lease when it is sent again', async () => {
  let isLost = true;
  const { ledger, reporter, ends, held, ids } = await holding({
    async query(statement) {
      const rows = await queue.admin.query(statement);
      if (!isLost) return rows as never;
      isLost = false;
      throw new Error('the connection is gone');
    },
  });
  await queue.admin.rows("update taskq.defaults set retention = 'none'");
  for (const task of held) ledger.report(task, outcomeOf({ kind: 'returned', value: 1 }), 5);
  void reporter.run(ended.signal);
  await ledger.untilEmpty();
  expect(ends.toSorted()).toEqual(ids.map((id) => `already ${id}`).toSorted());
});

test.each(['failed', 'completed'])(
  'after a ctx.transaction whose commit had no answer, what is sent again is what was recorded: %s',
  async (recorded) => {
    let isLost = true;
    const { worker, ledger, reporter, ends, kinds, held, ids } = await holding({
      async query(statement) {
        const rows = await queue.admin.query(statement);
        if (!isLost) return rows as never;
        isLost = false;
        throw new Error('the connection is gone');
      },
    });
    const completed = outcomeOf({ kind: 'returned', value: 1 }) as Completed;
    for (const task of held) start(ledger, task).attempt.completion = { kind: 'sent', outcome: completed };
    if (recorded === 'completed')
      await queue.admin.rows(
        'select * from taskq.complete($1, $2, $3)',
        ...[worker.id, ids, held.map(({ leaseNo }) => leaseNo)],
      );
    const failed = outcomeOf({ kind: 'threw', thrown: new Error('no answer') });
    for (const task of held) ledger.report(task, failed, 5);
    void reporter.run(ended.signal);
    await ledger.untilEmpty();
    expect(ends.toSorted()).toEqual(ids.map((id) => `already ${id}`).toSorted());
    expect(kinds).toEqual([recorded, recorded]);
  },
);

test('what was never sent, for want of a connection, is lost if its lease is over by then', async () => {
  const nowhere = openDatabase({
    databaseUrl: `postgres://postgres@/postgres?host=${encodeURIComponent(tmpdir())}&port=1`,
    maxConnections: 1,
    applicationName: 'test',
  });
  let isDown = true;
  const { worker, ledger, reporter, ends, troubles, held, ids } = await holding({
    query(statement) {
      if (!isDown) return queue.admin.query(statement);
      isDown = false;
      return nowhere.query(statement);
    },
  });
  await lapse(queue.admin, ids);
  await silence(queue.admin, worker.id, 3_600_000);
  await rescueAll(queue.admin);
  for (const task of held) ledger.report(task, outcomeOf({ kind: 'returned', value: 1 }), 5);
  void reporter.run(ended.signal);
  await ledger.untilEmpty();
  expect(troubles).toMatchObject([{ code: 'connection_failed' }]);
  expect(ends.toSorted()).toEqual(ids.map((id) => `lost ${id}`).toSorted());
  await nowhere.close();
});

test('an outcome of a locked task is sent again until it is free, and nothing waits for it', async () => {
  const { ledger, reporter, ends, held, ids } = await holding();
  const [locked, free] = ids as [string, string];
  const other = await queue.session();
  await other.rows('begin');
  await other.rows('select from taskq.tasks where id = $1 for update', locked);
  for (const task of held) ledger.release(task);
  void reporter.run(ended.signal);
  await expect.poll(() => ends).toEqual([`given back ${free}`]);
  await other.rows('commit');
  await ledger.untilEmpty();
  expect(ends).toEqual([`given back ${free}`, `given back ${locked}`]);
  expect(await liveRow(queue.admin, locked)).toMatchObject({ status: 'pending', releases: 0 });
});

test('an outcome waits in turn for a row that one session after another locks', async () => {
  const { ledger, reporter, ends, held, ids } = await holding(await queue.session(), 1);
  const [one, next] = [await queue.session(), await queue.session()];
  await one.rows('begin');
  await one.rows(LOCK, ids[0]);
  await next.rows('begin');
  const locked = next.rows(LOCK, ids[0]);
  ledger.report(held[0]!, outcomeOf({ kind: 'returned', value: 1 }), 5);
  void reporter.run(ended.signal);
  await waitUntilBlocked(queue.admin, 2);
  await one.rows('rollback');
  await locked;
  await next.rows('rollback');
  await ledger.untilEmpty();
  expect(ends).toEqual([`recorded ${ids[0]}`]);
});

test('a row that stays locked is waited for a few times, and then only asked for', async () => {
  const { ledger, reporter, ends, held, ids } = await holding(await queue.session(), 1);
  const other = await queue.session();
  await other.rows('begin');
  await other.rows(LOCK, ids[0]);
  ledger.report(held[0]!, outcomeOf({ kind: 'returned', value: 1 }), 5);
  void reporter.run(ended.signal);
  await expect.poll(() => held[0]!.delivery).toMatchObject({ vainWaits: 4, waitMs: 1000 });
  await other.rows('rollback');
  await ledger.untilEmpty();
  expect(held[0]!.delivery).toMatchObject({ vainWaits: 4 });
  expect(ends).toEqual([`recorded ${ids[0]}`]);
});

test('where the server refuses everything, no more of that type is claimed, and all is recorded when that is over', async () => {
  const { ledger, reporter, ends, held, ids } = await holding(queue.admin, 60);
  await queue.admin.rows(`create function refuse() returns trigger language plpgsql as $$
    begin
      raise exception 'not now' using errcode = 'serialization_failure';
    end
  $$`);
  await queue.admin.rows(
    'create trigger refuse before insert on taskq.finished_tasks for each row execute function refuse()',
  );
  for (const task of held) ledger.report(task, outcomeOf({ kind: 'returned', value: 1 }), 5);
  void reporter.run(ended.signal);
  await expect.poll(() => ledger.reports.sentAlone).toBeGreaterThan(20);
  expect([...reporter.refusedTypes]).toEqual(['work']);
  expect(ends).toEqual([]);
  await queue.admin.rows('drop trigger refuse on taskq.finished_tasks');
  await ledger.untilEmpty();
  expect([...reporter.refusedTypes]).toEqual([]);
  expect(ends.toSorted()).toEqual(ids.map((id) => `recorded ${id}`).toSorted());
});

test.each([
  ['as not stored', 'finished_tasks', /^not stored /],
  ['with the lease, if even that is refused', 'tasks', /^refused /],
])('a conflict that comes back for a minute ends %s', async (_, table, end) => {
  const { ledger, reporter, ends, held } = await holding(queue.admin, 1);
  await queue.admin.rows(`create or replace function refuse() returns trigger language plpgsql as $$
    begin
      raise exception 'not now' using errcode = 'serialization_failure';
    end
  $$`);
  await queue.admin.rows(
    `create trigger refuse before insert or delete on taskq.${table} for each row execute function refuse()`,
  );
  onTestFinished(async () => void (await queue.admin.rows(`drop trigger refuse on taskq.${table}`)));
  ledger.report(held[0]!, outcomeOf({ kind: 'returned', value: 1 }), 5);
  for (const task of ledger.reports.take(0, () => true))
    ledger.reports.retryLater(task, { waitMs: 25, notBefore: 0, isAlone: true, conflicts: 10 });
  void reporter.run(ended.signal);
  await ledger.untilEmpty();
  expect(ends).toContainEqual(expect.stringMatching(end));
});

test('a worker that ends sends at once what would be sent again in half a minute', async () => {
  const { ledger, reporter, ends, held, ids } = await holding();
  for (const task of held) ledger.report(task, outcomeOf({ kind: 'returned', value: 1 }), 5);
  for (const task of ledger.reports.take(0, () => true))
    ledger.reports.retryLater(task, { waitMs: 30_000, notBefore: performance.now() + 30_000, isAlone: true });
  void reporter.run(ended.signal);
  reporter.expedite();
  await expect.poll(() => ends.toSorted()).toEqual(ids.map((id) => `recorded ${id}`).toSorted());
});

/** Starts a held task. */
function start(ledger: Ledger, task: ReturnType<Ledger['held']>[number]): StartedTask {
  ledger.start(task, new Attempt(task.task));
  return task as StartedTask;
}

const progressOf = async (id: string) =>
  ((await liveRow(queue.admin, id))!.progress as { value: number } | null)?.value;

test('what a task has reported last is stored before its outcome, and before it is given back', async () => {
  await queue.admin.rows('select taskq.set_defaults(\'{"retention": "1d"}\')');
  const { ledger, reporter, ends, held, ids } = await holding();
  const [first, second] = held.map((task) => start(ledger, task));
  reporter.notes.progress(first!, { value: 0.1, text: null });
  reporter.notes.progress(first!, { value: 0.2, text: null });
  reporter.notes.progress(second!, { value: 0.3, text: null });
  ledger.report(first!, outcomeOf({ kind: 'returned', value: 1 }), 5);
  ledger.release(second!);
  // After its end nothing counts.
  reporter.notes.progress(first!, { value: 0.9, text: null });
  void reporter.run(ended.signal);
  await ledger.untilEmpty();
  expect(ends.toSorted()).toEqual([`given back ${ids[1]}`, `recorded ${ids[0]}`]);
  expect(await queue.admin.value("select progress ->> 'value' from taskq.finished_tasks")).toBe('0.2');
  expect(await progressOf(ids[1]!)).toBe(0.3);
});

test('warnings whose statement got no answer are sent again, and stored once; an outcome waits for no third try', async () => {
  let lost = 0;
  const { ledger, reporter, ends, held, ids } = await holding({
    async query(statement) {
      const rows = await queue.admin.query(statement);
      if (!statement.text.includes('taskq.note') || ++lost > 1) return rows as never;
      throw new Error('the connection is gone');
    },
  });
  const [first, second] = held.map((task) => start(ledger, task));
  reporter.notes.warn(first!, { name: 'Error', message: 'odd', stack: null, code: null, cause: null });
  ledger.report(first!, outcomeOf({ kind: 'returned', value: 1 }), 5);
  ledger.report(second!, outcomeOf({ kind: 'returned', value: 1 }), 5);
  void reporter.run(ended.signal);
  await ledger.untilEmpty();
  expect(ends.toSorted()).toEqual(ids.map((id) => `recorded ${id}`).toSorted());
  expect(await queue.admin.value('select count(*)::int from taskq.task_errors')).toBe(1);
  expect(lost).toBe(2);
});

test('notes that the database never answers do not keep the outcome from being recorded', async () => {
  const { ledger, reporter, ends, held, ids } = await holding({
    async query(statement) {
      if (statement.text.includes('taskq.note')) throw new Error('no answer');
      return (await queue.admin.query(statement)) as never;
    },
  });
  const [first, second] = held.map((task) => start(ledger, task));
  reporter.notes.progress(first!, { value: 0.1, text: null });
  ledger.report(first!, outcomeOf({ kind: 'returned', value: 1 }), 5);
  ledger.release(second!);
  void reporter.run(ended.signal);
  await ledger.untilEmpty();
  expect(ends.toSorted()).toEqual([`given back ${ids[1]}`, `recorded ${ids[0]}`]);
});

test('notes that the database refuses are reported and dropped; the outcome is recorded', async () => {
  const { ledger, reporter, ends, held, ids } = await holding();
  await queue.admin.rows(`create function public.refuse_note() returns trigger language plpgsql
    as $$ begin raise 'not now'; end $$`);
  await queue.admin.rows(`create trigger refuses_notes before update of progress on taskq.tasks for each row
    when (new.progress is not null) execute function public.refuse_note()`);
  const first = start(ledger, held[0]!);
  reporter.notes.progress(first, { value: 0.1, text: null });
  ledger.report(first, outcomeOf({ kind: 'returned', value: 1 }), 5);
  ledger.release(held[1]!);
  void reporter.run(ended.signal);
  await ledger.untilEmpty();
  expect(ends.toSorted()).toEqual([`given back ${ids[1]}`, `notes refused ${ids[0]}`, `recorded ${ids[0]}`]);
});
