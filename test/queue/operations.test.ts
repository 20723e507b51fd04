import { beforeEach, describe, expect, test } from 'vitest';
import { type ListedOperation, showOperation } from '../../src/queue/inspect/list-operations.ts';
import type { TaskFilter } from '../../src/queue/inspect/task-filter.ts';
import { type NewOperation, startOperation, stopOperation } from '../../src/queue/operate/operations.ts';
import { advanceOperations } from '../../src/queue/protocol/advance-operations.ts';
import { enqueue, enqueueSome } from './rows.ts';
import { type Session, useDatabase } from './session.ts';
import { type Claimed, outcome, type PlainWorker, registerWorker } from './worker.ts';

const queue = useDatabase();

let worker: PlainWorker;

beforeEach(async () => {
  worker = await registerWorker(queue.admin);
});

/** Lets this many tasks die, and returns their ids, lowest first. */
async function dead(count: number, options: object = {}): Promise<string[]> {
  await enqueueSome(queue.admin, count, options);
  return endAll('dead');
}

/** Lets a task with each of these keys die. */
async function deadWithKeys(keys: readonly string[]): Promise<string[]> {
  for (const key of keys) await enqueue(queue.admin, { key });
  return endAll('dead');
}

/** Ends every task that is due. */
async function endAll(how: string): Promise<string[]> {
  const claimed: Claimed[] = await worker.claim({ start: 2000 });
  await worker.settle(...claimed.map((task) => outcome(task, how, { reason: 'r', error: { message: 'm' } })));
  return claimed.map(({ id }) => id);
}

function start(operation: Partial<NewOperation> = {}, session: Session = queue.admin) {
  return startOperation(session, { verb: 'revive', filter: {}, by: 'ann', ...operation });
}

async function started(operation: Partial<NewOperation> = {}): Promise<string> {
  const { id, answer } = await start(operation);
  expect(answer).toBe('started');
  return id!;
}

/** Does the next batch, whenever it is due. */
async function advance(session: Session = queue.admin): Promise<void> {
  await queue.admin.rows('update taskq.operations set next_at = clock_timestamp() where ended_at is null');
  await advanceOperations(session);
}

async function shown(id: string): Promise<ListedOperation> {
  return (await showOperation(queue.admin, id))!;
}

/** Advances an operation until it has ended. */
async function finished(id: string): Promise<ListedOperation> {
  for (;;) {
    const operation = await shown(id);
    if (operation.ended_at !== null) return operation;
    await advance();
  }
}

/** How often each task was revived. */
function timesRevived(): Promise<{ id: string; times: string }[]> {
  return queue.admin.rows(
    `select unnest(task_ids) as id, count(*) as times from taskq.audit where verb = 'revive' group by 1`,
  );
}

function count(table: string): Promise<number> {
  return queue.admin.value(`select count(*)::integer from taskq.${table}`);
}

describe('an operation', () => {
  test('acts on all tasks that match, and counts them', async () => {
    await dead(3, { queue: 'default' });
    const id = await started({ filter: { type: 'work' }, reason: 'the bank is back' });
    expect(await shown(id)).toMatchObject({ state: 'running', matched: 3, at_least: false, done: 0 });
    expect(await finished(id)).toMatchObject({
      ...{ verb: 'revive', state: 'completed', matched: 3, done: 3, skipped: 0, failed: 0 },
      ...{ dead_again: null, by: 'ann', reason: 'the bank is back', stopped_because: null, failures: [] },
    });
    expect(await count('tasks')).toBe(3);
  });

  test('without a match completes at once', async () => {
    const { id, answer, matched } = await start();
    expect({ answer, matched }).toEqual({ answer: 'started', matched: 0 });
    expect(await shown(id!)).toMatchObject({ state: 'completed', done: 0 });
  });

  test('leaves out what was added by hand, and what came after its start', async () => {
    const [before] = await dead(1);
    const byHand = await enqueue(queue.admin);
    await queue.admin.rows("select from taskq.add_dead($1, 'by hand')", byHand);
    const id = await started();
    const [after] = await dead(1);
    expect(await finished(id)).toMatchObject({ done: 1 });
    expect(await timesRevived()).toEqual([{ id: before, times: '1' }]);
    const left = await queue.admin.rows<{ id: string }>('select id from taskq.dead_tasks order by id');
    expect(left).toEqual([{ id: byHand }, { id: after }]);
  });

  test.each<[NewOperation['verb'], 'completed' | 'waiting' | 'dead', Record<string, number>]>([
    ['cancel', 'waiting', { tasks: 0, finished_tasks: 2 }],
    ['retry', 'waiting', { tasks: 2 }],
    ['rerun', 'completed', { tasks: 2, finished_tasks: 2 }],
    ['purge', 'completed', { finished_tasks: 0 }],
    ['discard', 'dead', { dead_tasks: 0 }],
  ])('can %s', async (verb, state, counts) => {
    await enqueueSome(queue.admin, 2, state === 'waiting' ? { delay_ms: 3_600_000 } : {});
    if (state !== 'waiting') await endAll(state);
    expect(await finished(await started({ verb, reason: 'why' }))).toMatchObject({
      state: 'completed',
      done: 2,
    });
    for (const [table, rows] of Object.entries(counts))
      expect([table, await count(table)]).toEqual([table, rows]);
    if (verb === 'retry') expect(await endAll('completed')).toHaveLength(2);
    if (verb === 'cancel')
      expect(await queue.admin.value('select max(cancel_reason) from taskq.finished_tasks')).toBe('why');
  });

  test('can edit waiting tasks, whose new queue and time it stores', async () => {
    await enqueueSome(queue.admin, 2);
    const changes = { queue: 'later', priority: 4, payload: '{"n": 1.10}' };
    await expect(start({ verb: 'edit' })).rejects.toThrow('expected a change');
    await expect(start({ verb: 'edit', changes: { priority: 99 } })).rejects.toThrow('priority 99');
    expect(await finished(await started({ verb: 'edit', changes }))).toMatchObject({
      ...{ state: 'completed', done: 2 },
      settings: { changes: { queue: 'later', priority: 4 } },
    });
    const edited = await queue.admin.rows('select queue, priority, payload::text from taskq.tasks');
    expect(edited).toEqual(Array(2).fill({ queue: 'later', priority: 4, payload: '{"n": 1.10}' }));
  });

  test('acts on named tasks; those that are not for the verb are skipped', async () => {
    const [one, two] = await dead(2);
    const alive = await enqueue(queue.admin);
    const filter = { ids: [two!, one!, alive, two!] };
    expect(await start({ filter, dryRun: true })).toMatchObject({ matched: 2, ids: [one, two] });
    expect(await finished(await started({ filter }))).toMatchObject({ done: 2, skipped: 1, failed: 0 });
  });

  test('names in the audit who started it, with each batch', async () => {
    const ids = await dead(2);
    const id = await started({ reason: 'why' });
    await finished(id);
    const actions = await queue.admin.rows(
      'select verb, by, reason, task_ids, filter, settings from taskq.audit order by id',
    );
    const noted = { operation: id };
    expect(actions).toMatchObject([
      { verb: 'start operation', by: 'ann', reason: 'why', settings: { ...noted, verb: 'revive' } },
      { verb: 'revive', by: 'ann', reason: 'why', filter: noted, task_ids: expect.arrayContaining(ids) },
    ]);
  });

  test('that someone stops does nothing more, and says who stopped it', async () => {
    await dead(3);
    const id = await started({ rate: '1/1m' });
    await advance();
    expect(await stopOperation(queue.admin, id, { by: 'bob', reason: 'wrong ones' })).toEqual({
      answer: 'stopped',
      state: null,
    });
    await advance();
    const operation = await shown(id);
    expect(operation).toMatchObject({ state: 'stopped', done: 1 });
    expect(operation.stopped_because).toMatch(/^stopped by \S+ \(bob\): wrong ones$/);
    expect(await stopOperation(queue.admin, id)).toEqual({ answer: 'not_running', state: 'stopped' });
    expect(await stopOperation(queue.admin, '999999')).toEqual({ answer: 'not_running', state: null });
    expect(await queue.admin.value("select reason from taskq.audit where verb = 'stop operation'")).toBe(
      'wrong ones',
    );
  });

  test('that cannot go on fails, says why, and stops no other', async () => {
    await dead(2);
    const [broken, sound] = [await started(), await started()];
    await queue.admin.rows(`update taskq.operations set filter = '{"colour": "red"}' where id = $1`, broken);
    expect(await finished(broken)).toMatchObject({
      state: 'failed',
      stopped_because: 'filter: unknown option "colour"',
    });
    expect(await finished(sound)).toMatchObject({ state: 'completed', done: 2 });
  });

  test('is forgotten 90 days after its end', async () => {
    const [old, recent] = [await started(), await started()];
    await queue.admin.rows(
      "update taskq.operations set ended_at = ended_at - interval '91 days' where id = $1",
      old,
    );
    await queue.admin.rows('insert into taskq.operation_tasks values ($1, 1)', recent);
    await queue.admin.rows('select taskq.maintain()');
    expect(await showOperation(queue.admin, old)).toBeUndefined();
    expect(await shown(recent)).toMatchObject({ id: recent });
    expect(await count('operation_tasks')).toBe(0);
  });
});

describe('before it starts', () => {
  test('a dry run counts, names the first, and changes nothing', async () => {
    const ids = await dead(12);
    const { answer, id, matched, ids: first } = await start({ dryRun: true });
    expect({ answer, id, matched }).toEqual({ answer: 'dry_run', id: null, matched: 12 });
    expect(first).toEqual(ids.reverse().slice(0, 10));
    expect(await count('operations')).toBe(0);
    expect(await count('audit')).toBe(0);
  });

  test('another number than expected is refused', async () => {
    await dead(2);
    expect(await start({ expect: 3 })).toMatchObject({ answer: 'unexpected', id: null, matched: 2 });
    expect(await start({ expect: 2 })).toMatchObject({ answer: 'started', matched: 2 });
  });

  test.each<[string, Partial<NewOperation>, RegExp]>([
    ['an unknown verb', { verb: 'retyr' as never }, /verb "retyr": expected cancel, retry, .*did you mean/],
    ['an unknown filter', { filter: { colour: 1 } as TaskFilter }, /unknown option "colour"/],
    ['a status of other verbs', { filter: { status: ['running'] } }, /revive acts on tasks that are dead/],
    ['ids beside a filter', { filter: { ids: ['1'], type: 'a' } as never }, /ids name the tasks/],
    ['no ids', { filter: { ids: [] } }, /ids \[\]: expected an array of 1 to 10000/],
    ['an odd id', { filter: { ids: ['x'] } }, /ids/],
    ['a canary of none', { canary: 0 }, /canary 0: expected a whole number from 1 to 1000/],
    ['a share above all', { stop_at: 101 }, /stop_at 101: expected a percentage/],
    ['an odd rate', { rate: 'fast' }, /rate "fast": expected n\/duration/],
    ['a canary of a purge', { verb: 'purge', canary: 1 }, /unknown option "canary"/],
    ['a patch of everything', { patch: '5' }, /patch 5: expected an object/],
    ['a payload beside a patch', { patch: '{}', payload: '{}' }, /give one of them/],
  ])('%s is refused', async (_, operation, message) => {
    await expect(start(operation)).rejects.toThrow(message);
    expect(await count('operations')).toBe(0);
  });
});

describe('a task that was locked when its turn came, and is changed by then,', () => {
  /** Has another session change a task while the operation finds it locked. */
  async function changedMeanwhile(id: string, text: string, task: string): Promise<void> {
    const person = await queue.session();
    await person.rows('begin');
    await person.rows(text, task);
    await advance();
    expect(await shown(id)).toMatchObject({ done: 0, ended_at: null });
    await person.rows('commit');
  }

  test('is not discarded if it was revived and died of something else', async () => {
    const [letter] = await dead(1);
    const id = await started({ verb: 'discard' });
    await changedMeanwhile(id, 'select taskq.revive(array[$1::bigint])', letter!);
    expect(await endAll('dead')).toEqual([letter]);
    expect(await finished(id)).toMatchObject({ state: 'completed', done: 0, skipped: 1 });
    expect(await count('dead_tasks')).toBe(1);
  });

  test('is not cancelled if it was moved to a queue that the filter does not name', async () => {
    const task = await enqueue(queue.admin, { queue: 'default' });
    const id = await started({ verb: 'cancel', filter: { queue: 'default' } });
    await changedMeanwhile(id, `select taskq.edit(array[$1::bigint], '{"queue": "other"}')`, task);
    expect(await finished(id)).toMatchObject({ state: 'completed', done: 0, skipped: 1 });
    expect(await queue.admin.value('select status::text from taskq.tasks')).toBe('pending');
  });
});

test('a number that is too large to count is not the expected one', async () => {
  await enqueueSome(queue.admin, 10_001);
  const { answer, matched } = await start({ verb: 'cancel', expect: 10_000 });
  expect({ answer, matched: Number(matched) }).toEqual({ answer: 'unexpected', matched: 10_000 });
  expect(await count('operations')).toBe(0);
});

test('a patch of null is no patch', async () => {
  const [letter] = await dead(1);
  const { payload } = (await queue.admin.row<{ payload: unknown }>('select payload from taskq.dead_tasks'))!;
  await queue.admin.rows(`select taskq.start_operation('revive', '{}', '{"patch": null}')`);
  await advance();
  expect(await queue.admin.row('select id, payload from taskq.tasks')).toEqual({ id: letter, payload });
});

test('of several operations each call does one, and none waits for the others', async () => {
  await dead(2);
  const ids = [await started({ verb: 'discard' }), await started({ verb: 'discard' })];
  const { advanced, nextMs } = await advanceOperations(queue.admin);
  expect([advanced, nextMs]).toEqual([1, 0]);
  for (const id of ids) await finished(id);
});

describe('a canary', () => {
  test('is revived first; the others follow when it has ended well', async () => {
    await dead(10);
    const id = await started({ canary: 3 });
    await advance();
    await advance();
    expect(await shown(id)).toMatchObject({ state: 'canary', done: 3, dead_again: 0 });
    expect(await endAll('completed')).toHaveLength(3);
    expect(await finished(id)).toMatchObject({ state: 'completed', done: 10, dead_again: 0 });
  });

  test('that dies stops it, by default at the first death', async () => {
    await dead(10);
    const id = await started({ canary: 3 });
    await advance();
    const [first] = await worker.claim({ start: 1 });
    await worker.settle(outcome(first!, 'dead', { reason: 'r' }));
    expect(await finished(id)).toMatchObject({
      ...{ state: 'stopped', done: 3, dead_again: 1 },
      stopped_because: '1 of 3 revived tasks died again, more than 0%',
    });
    expect(await count('dead_tasks')).toBe(8);
  });

  test('may lose the share that stop_at allows', async () => {
    await dead(20);
    const id = await started({ canary: 4, stop_at: 25 });
    await advance();
    const claimed = await worker.claim({ start: 4 });
    await worker.settle(
      ...claimed.map((task, n) => outcome(task, n === 0 ? 'dead' : 'completed', { reason: 'r' })),
    );
    expect(await finished(id)).toMatchObject({ state: 'completed', done: 20, dead_again: 1 });
  });

  test('of more letters than there are goes on when all have ended', async () => {
    await dead(2);
    const id = await started({ canary: 5 });
    await advance();
    expect(await shown(id)).toMatchObject({ state: 'canary', done: 2 });
    await endAll('completed');
    expect(await finished(id)).toMatchObject({ state: 'completed', done: 2 });
  });

  test('does not end the watch: deaths among the others stop it too', async () => {
    await dead(40);
    const id = await started({ canary: 2, stop_at: 20, rate: '10/10s' });
    await advance();
    await endAll('completed');
    // A batch each second has one task.
    for (let n = 0; n < 6; n++) await advance();
    await endAll('dead');
    expect(await finished(id)).toMatchObject({
      state: 'stopped',
      stopped_because: expect.stringMatching(/^\d of \d revived tasks died again, more than 20%$/),
    });
    expect((await shown(id)).done).toBeLessThan(40);
  });
});

describe('a patch', () => {
  test('changes the payload of each task', async () => {
    await dead(2);
    await finished(await started({ patch: '{"currency": "EUR", "n": null}' }));
    const payloads = await queue.admin.rows('select payload from taskq.tasks');
    expect(payloads).toEqual([{ payload: { currency: 'EUR' } }, { payload: { currency: 'EUR' } }]);
  });

  // The examples of RFC 7386, appendix A.
  test.each([
    ['{"a":"b"}', '{"a":"c"}', { a: 'c' }],
    ['{"a":"b"}', '{"b":"c"}', { a: 'b', b: 'c' }],
    ['{"a":"b"}', '{"a":null}', {}],
    ['{"a":"b","b":"c"}', '{"a":null}', { b: 'c' }],
    ['{"a":["b"]}', '{"a":"c"}', { a: 'c' }],
    ['{"a":"c"}', '{"a":["b"]}', { a: ['b'] }],
    ['{"a":{"b":"c"}}', '{"a":{"b":"d","c":null}}', { a: { b: 'd' } }],
    ['{"a":[{"b":"c"}]}', '{"a":[1]}', { a: [1] }],
    ['["a","b"]', '["c","d"]', ['c', 'd']],
    ['{"a":"b"}', '["c"]', ['c']],
    ['{"a":"foo"}', 'null', null],
    ['{"a":"foo"}', '"bar"', 'bar'],
    ['{"e":null}', '{"a":1}', { e: null, a: 1 }],
    ['[1,2]', '{"a":"b","c":null}', { a: 'b' }],
    ['{}', '{"a":{"bb":{"ccc":null}}}', { a: { bb: {} } }],
  ])('%s changed by %s', async (target, patch, expected) => {
    expect(await queue.admin.value('select taskq.merge_patch($1, $2)', target, patch)).toEqual(expected);
  });
});

describe('a rate', () => {
  test('holds in every period, wherever it begins', async () => {
    await dead(60);
    const id = await started({ rate: '20/200ms' });
    while ((await shown(id)).ended_at === null) await advanceOperations(queue.admin);
    const most = await queue.admin.value<number>(
      `select max(n)::integer from (
        select count(*) over (order by not_before range between current row and interval '199 ms' following) as n
        from taskq.tasks
      ) as counted`,
    );
    expect(await count('tasks')).toBe(60);
    expect(most).toBeLessThanOrEqual(20);
  });

  test('of any size allows no more, and takes a second’s worth at once', async () => {
    const wrong = await queue.admin.rows(
      `select r.rate, b.tasks, b.gap
       from (
         select starts, ms, starts || '/' || ms || 'ms' as rate
         from unnest(array[1, 2, 3, 7, 50, 99, 500, 501, 1000, 999999]) as starts,
           unnest(array[1, 10, 999, 1000, 1001, 60000, 86400000]) as ms
       ) as r
       cross join lateral taskq.batch_of_rate(r.rate, 500) as b
       -- As many batches begin in a period as have room in it.
       where b.tasks * ceil(r.ms::bigint * 1000 / (extract(epoch from b.gap) * 1000000)) > r.starts
         or b.tasks not between 1 and 500`,
    );
    expect(wrong).toEqual([]);
    const batch = (rate: string | null) =>
      queue.admin.row('select tasks, gap::text from taskq.batch_of_rate($1, 500)', rate);
    expect(await batch('50/1m')).toEqual({ tasks: 1, gap: '00:00:01.2' });
    expect(await batch('6000/1m')).toEqual({ tasks: 100, gap: '00:00:01' });
    expect(await batch(null)).toEqual({ tasks: 500, gap: '00:00:00' });
  });
});

describe('what is odd', () => {
  test('a task that a trigger refuses stops no other', async () => {
    const ids = await dead(5);
    await queue.admin.client.query(`
      create or replace function refuse_it() returns trigger language plpgsql as
        $$ begin if old.id = ${ids[2]} then raise exception 'not this one'; end if; return old; end $$;
      create trigger refuse before delete on taskq.dead_tasks for each row execute function refuse_it()`);
    try {
      expect(await finished(await started({ verb: 'discard' }))).toMatchObject({
        ...{ state: 'completed', done: 4, failed: 1 },
        failures: [{ id: ids[2], answer: 'refused', error: 'not this one' }],
      });
    } finally {
      await queue.admin.rows('drop trigger refuse on taskq.dead_tasks');
    }
  });

  test('a task whose key another one has is listed', async () => {
    const [id] = await deadWithKeys(['k']);
    await enqueue(queue.admin, { key: 'k' });
    expect(await finished(await started())).toMatchObject({
      ...{ state: 'completed', done: 0, failed: 1 },
      failures: [{ id, answer: 'key_held' }],
    });
  });

  test('a task that others have locked comes later; after a minute it has failed', async () => {
    const ids = await dead(3);
    const holder = await queue.session();
    await holder.rows('begin');
    await holder.rows('select from taskq.dead_tasks where id = any ($1) for update', ids.slice(1));
    const id = await started();
    await advance();
    await advance();
    expect(await shown(id)).toMatchObject({ state: 'running', done: 1, matched: 3 });
    await holder.rows('rollback');
    await holder.rows('begin');
    await holder.rows('select from taskq.dead_tasks where id = $1 for update', ids[2]);
    await advance();
    expect(await shown(id)).toMatchObject({ state: 'running', done: 2 });
    await advance();
    await queue.admin.rows("update taskq.operations set left_since = left_since - interval '2 minutes'");
    await advance();
    expect(await shown(id)).toMatchObject({
      ...{ state: 'completed', done: 2, failed: 1 },
      failures: [{ id: ids[2], answer: 'locked' }],
    });
  });
});

test('a task whose key another transaction is taking comes later', async () => {
  const ids = await deadWithKeys(['a', 'b', 'c']);
  const holder = await queue.session();
  await holder.rows('begin');
  await enqueue(holder, { key: 'b' });
  const id = await started();
  await advance();
  expect(await shown(id)).toMatchObject({ state: 'running', failed: 0, matched: 3 });
  await holder.rows('rollback');
  expect(await finished(id)).toMatchObject({ state: 'completed', done: 3 });
  expect((await timesRevived()).map((row) => row.id).sort()).toEqual(ids);
});

describe('of a thousand letters of one bug', () => {
  test('each is revived once, whoever is killed, and however many advance it', async () => {
    const ids = await dead(1000);
    const id = await started();
    const killed = await queue.session();
    await killed.rows('begin');
    expect(await advanceOperations(killed)).toMatchObject({ advanced: 1 });
    // Others pass what it has.
    expect(await advanceOperations(queue.admin)).toMatchObject({ advanced: 0 });
    await queue.admin.rows('select pg_terminate_backend($1, 5000)', await pidOf(killed));
    expect(await shown(id)).toMatchObject({ done: 0 });
    const others = [await queue.session(), await queue.session()];
    while ((await shown(id)).ended_at === null)
      await Promise.all([advance(), ...others.map((session) => advanceOperations(session))]);
    expect(await shown(id)).toMatchObject({ state: 'completed', done: 1000 });
    const revived = await timesRevived();
    expect(revived.map((row) => row.id).sort()).toEqual([...ids].sort());
    expect(revived.filter(({ times }) => times !== '1')).toEqual([]);
  });

  test('those that die again meanwhile are not revived again', async () => {
    await dead(1000);
    const id = await started();
    await advance();
    expect(await endAll('dead')).toHaveLength(500);
    expect(await finished(id)).toMatchObject({ done: 1000, matched: 1000 });
    expect((await timesRevived()).filter(({ times }) => times !== '1')).toEqual([]);
  });
});

test('a worker reads when the next batch is due with its orders', async () => {
  const due = () => queue.admin.value("select taskq.get_orders($1) ->> 'operations_ms'", worker.id);
  expect(await due()).toBeNull();
  await dead(2);
  const id = await started({ rate: '1/1h' });
  expect(await due()).toBe('0');
  await advance();
  expect(Number(await due())).toBeGreaterThan(3_000_000);
  await stopOperation(queue.admin, id);
  expect(await due()).toBeNull();
});

async function pidOf(session: Session): Promise<number> {
  return (session.client as unknown as { processID: number }).processID;
}
