import { afterEach, describe, expect, test } from 'vitest';
import { type ListFilter, TaskQueue } from '../../src/index.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { emptyDatabase, type TestDatabase } from '../support/database.ts';
import { openPool, useLibrary } from './use-queue.ts';

const library = useLibrary();

/** Claims a task of type `work` from the queue, and settles it so. */
async function settleOne(queue: string, kind: string, more: object = {}): Promise<string> {
  const worker = await registerWorker(library.admin);
  const task = await claimOne(worker, { queues: [queue] });
  await worker.settle(outcome(task, kind, more));
  return task.id;
}

const statuses = async (queue: string) =>
  (
    await library.admin.rows<{ status: string }>(
      `select status from taskq.all_tasks where queue = '${queue}' order by id`,
    )
  ).map(({ status }) => status);

describe('an action on all tasks that match a filter', () => {
  test('cancel: waiting tasks at once, the workers of running ones are asked', async () => {
    const queue = library.open();
    await queue.enqueueMany(Array.from({ length: 1500 }, () => ({ type: 'work', queue: 'a' })));
    await queue.enqueue('work', {}, { queue: 'b' });
    const running = await claimOne(await registerWorker(library.admin), { queues: ['a'] });
    const list = queue.list({ queue: 'a' });
    expect(await list.cancel({ reason: 'not wanted', by: 'ann' })).toEqual({
      counts: { cancelled: 1499, requested: 1 },
      answers: [{ id: running.id, answer: 'requested', status: null }],
    });
    expect(await statuses('b')).toEqual(['pending']);
    const { tasks } = await queue.list({ queue: 'a', status: 'cancelled' }).page({ limit: 1 });
    expect(tasks[0]).toMatchObject({ reason: 'not wanted' });
    expect((await queue.get(tasks[0]!.id))!.actions).toMatchObject([{ verb: 'cancel', by: 'ann' }]);
    expect(await list.cancel()).toMatchObject({ counts: { requested: 1 } });
  });

  test('retry: pending tasks are due now, whatever they wait for', async () => {
    const queue = library.open();
    const late = await queue.enqueue('work', {}, { queue: 'a', delay: '1h' });
    await queue.enqueue('work', {}, { queue: 'a' });
    expect(await queue.list({ queue: 'a' }).retry({ by: 'ann' })).toEqual({
      counts: { retried: 1, due: 1 },
      answers: [],
    });
    const { availableAt } = (await queue.get(late.id))!;
    expect(availableAt!.getTime()).toBeLessThan(Date.now() + 60_000);
    expect(await queue.retry(late.id)).toMatchObject({ answer: 'due' });
    expect(await queue.list({ status: 'pending' }).retry({ limit: 1 })).toMatchObject({ counts: { due: 1 } });
  });

  test('edit: waiting tasks get what is given, and those that cannot are named', async () => {
    const validate = (value: unknown) =>
      (value as { name?: string }).name === undefined ? { issues: [{ message: 'no name' }] } : { value };
    const schema = { '~standard': { version: 1 as const, vendor: 'test', validate } };
    const queue = library.open({ handlers: { work: { schema, run: () => 0 } } });
    const tasks = await Promise.all([1, 2].map(() => queue.enqueue('work', { name: 'x' }, { queue: 'a' })));
    const keyed = await queue.enqueue('work', { name: 'x' }, { queue: 'a', key: 'k' });
    const holder = await queue.enqueue('work', { name: 'x' }, { queue: 'b', key: 'k' });
    const changes = {
      payload: { name: 'y' },
      priority: 'high',
      at: new Date('2999-01-31T09:00:00Z'),
      queue: 'b',
    };
    expect(await queue.list({ queue: 'a' }).edit(changes, { by: 'ann' })).toMatchObject({
      counts: { edited: 2, key_held: 1 },
      answers: [{ id: keyed.id, answer: 'key_held', key: 'k', holder: holder.id }],
    });
    const shown = (await queue.get(tasks[0]!.id))!;
    expect(shown).toMatchObject({ payload: { name: 'y' }, priority: 1, queue: 'b', availableAt: changes.at });
    expect(shown.actions).toMatchObject([{ verb: 'edit', by: 'ann' }]);

    expect(await queue.edit(tasks[0]!.id, { delay: 0 }, { by: 'bob' })).toMatchObject({ answer: 'edited' });
    await claimOne(await registerWorker(library.admin), { queues: ['b'] });
    expect(await queue.edit(holder.id, { delay: '1h' })).toMatchObject({ answer: 'edited' });
    const badPayload = { payload: {} };
    await expect(queue.edit(keyed.id, badPayload)).rejects.toMatchObject({ code: 'invalid_payload' });
    await expect(queue.list({ queue: 'a' }).edit(badPayload)).rejects.toMatchObject({
      code: 'invalid_payload',
    });
    for (const [wrong, message] of [
      [{}, 'nothing to change: give payload, delay, at, priority, queue'],
      [{ prioriy: 1 } as object, 'unknown change "prioriy" (did you mean "priority"?)'],
      [{ delay: '1h', at: new Date() }, 'give either at or delay, not both'],
    ] as const)
      await expect(queue.edit(keyed.id, wrong)).rejects.toMatchObject({ code: 'bad_option', message });
    await expect(queue.list().edit({ priority: 1 })).rejects.toThrow('this would change every waiting task');
  });

  test('revive: dead letters but those added by hand; a held key keeps its task dead', async () => {
    const queue = library.open();
    const keyed = await queue.enqueue('work', {}, { queue: 'a', key: 'k' });
    await settleOne('a', 'dead', { reason: 'r' });
    for (let n = 0; n < 2; n++) {
      await queue.enqueue('work', { n }, { queue: 'a' });
      await settleOne('a', 'dead', { reason: 'r' });
    }
    const byHand = await queue.enqueue('work', {}, { queue: 'a' });
    await library.admin.rows(`select taskq.add_dead(${byHand.id}, 'why')`);
    const holder = await queue.enqueue('report', {}, { queue: 'a', key: 'k' });

    const list = queue.list({ queue: 'a', status: 'dead' });
    expect(await list.revive({ payload: { n: 7 }, maxAttempts: 2, delay: '1h', by: 'ann' })).toEqual({
      counts: { revived: 2, key_held: 1 },
      answers: [{ id: keyed.id, answer: 'key_held', key: 'k', holder: holder.id, status: 'dead' }].map(
        ({ status: _, ...answer }) => expect.objectContaining(answer),
      ),
    });
    const revived = await queue.list({ queue: 'a', type: 'work', status: 'pending' }).page();
    expect(revived.tasks).toMatchObject([
      { payload: { n: 7 }, maxAttempts: 2 },
      { payload: { n: 7 }, maxAttempts: 2 },
    ]);
    expect(await queue.list({ queue: 'a', byHand: true }).revive()).toMatchObject({ counts: { revived: 1 } });
  });

  test('revive: a payload that the schema of a handler refuses revives nothing', async () => {
    const validate = (value: unknown) =>
      (value as { n?: unknown }).n === 1 ? { value } : { issues: [{ message: 'expected 1' }] };
    const schema = { '~standard': { version: 1 as const, vendor: 'test', validate } };
    const queue = library.open({ handlers: { work: { schema, run: async () => {} } } });
    await library.open().enqueue('work', { n: 2 }, { queue: 'a' });
    await settleOne('a', 'dead', { reason: 'r' });
    const list = queue.list({ queue: 'a' });
    await expect(list.revive({ payload: { n: 3 } })).rejects.toMatchObject({
      code: 'invalid_payload',
      message: 'the payload does not fit work: $: expected 1',
    });
    expect(await statuses('a')).toEqual(['dead']);
  });

  test('purge and discard delete for good, and name a key that stays held', async () => {
    const queue = library.open();
    const held = await queue.enqueue('work', {}, { queue: 'a', key: 'k', keyFor: 'ever' });
    await settleOne('a', 'completed');
    const later = await queue.enqueue('work', {}, { queue: 'a', key: 'l', keyFor: '24h' });
    await settleOne('a', 'dead', { reason: 'r' });
    await queue.enqueue('work', {}, { queue: 'a' });
    const list = queue.list({ queue: 'a' });
    expect(await list.purge({ by: 'ann' })).toEqual({
      counts: { purged: 1 },
      answers: [
        { id: held.id, answer: 'purged', status: null, heldKey: { queue: 'a', key: 'k', until: null } },
      ],
    });
    expect(await list.discard()).toEqual({
      counts: { discarded: 1 },
      answers: [
        {
          ...{ id: later.id, answer: 'discarded', status: null },
          heldKey: { queue: 'a', key: 'l', until: expect.any(Date) },
        },
      ],
    });
    expect(await statuses('a')).toEqual(['pending']);
    expect(await list.purge()).toEqual({ counts: {}, answers: [] });
  });

  test('one task at a time says what became of it', async () => {
    const queue = library.open();
    const { id } = await queue.enqueue('work', {}, { queue: 'a' });
    expect(await queue.purge(id)).toEqual({ id, answer: 'not_finished', status: 'pending', heldKey: null });
    expect(await queue.discard(id)).toEqual({ id, answer: 'not_dead', status: 'pending', heldKey: null });
    await settleOne('a', 'completed');
    expect(await queue.retry(id)).toEqual({ id, answer: 'not_waiting', status: 'completed' });
    expect(await queue.purge(id)).toEqual({ id, answer: 'purged', status: null, heldKey: null });
    expect(await queue.get(id)).toBeUndefined();
  });

  test.each([
    [{}, 'cancel', {}, 'this would cancel every live task: give the list a filter, or say { all: true }'],
    [{}, 'retry', {}, 'this would retry every pending task: '],
    [{}, 'revive', {}, 'this would revive every dead letter: '],
    [{}, 'purge', {}, 'this would permanently delete every finished task: '],
    [{}, 'discard', {}, 'this would permanently delete every dead letter: '],
    [{ status: 'dead' }, 'cancel', {}, 'status "dead": expected one of blocked, pending, leased, running'],
    [
      { status: 'running' },
      'retry',
      {},
      'status: only waiting tasks can be retried; dead letters are revived, ended tasks rerun',
    ],
    [{ reason: 'r' }, 'cancel', {}, 'reason: it records why tasks are cancelled'],
    [{ type: 'work' }, 'purge', { limit: 0 }, 'limit 0: expected a whole number from 1 on'],
    [{ type: 'work' }, 'purge', { limt: 1 }, 'unknown option "limt"'],
  ] as const)('is refused where it is not meant so: %j %s %j', async (filter, verb, settings, message) => {
    const list = library.open().list(filter as ListFilter);
    await expect(list[verb](settings as object)).rejects.toThrow(message);
  });

  test('ends at its limit or when it is aborted, and { all: true } is every task', async () => {
    const queue = library.open();
    await queue.enqueueMany(Array.from({ length: 5 }, () => ({ type: 'work' })));
    const list = queue.list();
    expect(await list.cancel({ all: true, limit: 2 })).toMatchObject({ counts: { cancelled: 2 } });
    expect(await list.cancel({ all: true, signal: AbortSignal.abort() })).toEqual({
      counts: {},
      answers: [],
    });
    expect(await list.cancel({ all: true })).toMatchObject({ counts: { cancelled: 3 } });
  });
});

test('a misspelt queue or option is refused, and acts on no other queue', async () => {
  const queue = library.open();
  const { id } = await queue.enqueue('work', {}, { key: 'k', keyFor: '1d' });
  const misspelt = { key: 'k', queeu: 'mail' };
  const refusal = { code: 'bad_option', message: expect.stringContaining('unknown option "queeu"') };
  await expect(queue.releaseKey(misspelt)).rejects.toMatchObject(refusal);
  await expect(queue.get(misspelt)).rejects.toMatchObject(refusal);
  expect((await queue.get({ key: 'k' }))?.id).toBe(id);
  await expect(queue.migrate({ patienc: '5m' } as object)).rejects.toMatchObject({ code: 'bad_option' });
});

describe('queues', () => {
  test('in figures', async () => {
    const queue = library.open();
    await queue.enqueue('work', {}, { queue: 'a' });
    await settleOne('a', 'completed', { ran_ms: 20 });
    await queue.enqueue('report', {}, { queue: 'a' });
    const figures = await queue.stats({ since: '1h' });
    expect(figures).toMatchObject({
      ...{ due: 1, depth: 0, completed: 1, unhandledTypes: ['report'], workers: expect.any(Number) },
      queues: [
        {
          ...{
            queue: 'a',
            due: 1,
            retrying: 0,
            paused: false,
            oldestWaitingMs: expect.any(Number),
            limitedBy: null,
          },
          counts: { pending: 1, blocked: 0, leased: 0, running: 0, dead: 0 },
          ended: { completed: 1, cancelled: 0, expired: 0 },
        },
      ],
      stalled: [{ queue: 'a', type: 'report', due: 1, reason: expect.any(String), worker: null }],
    });
    expect(figures.types).toContainEqual(
      expect.objectContaining({ type: 'report', live: 1, averageMs: null, handled: false }),
    );
    expect(figures.at.getTime() - figures.since.getTime()).toBe(3_600_000);
    expect(JSON.stringify(figures)).not.toMatch(/"\w+_\w+":/);
    await expect(queue.stats({ since: 'today' })).rejects.toMatchObject({ code: 'bad_duration' });
  });

  test('by what happened in them', async () => {
    const queue = library.open();
    await queue.enqueue('work', {}, { queue: 'a' });
    await settleOne('a', 'completed', { ran_ms: 20 });
    await library.admin.rows('select taskq.fold_counts()');
    const [today] = await queue.metrics({ per: 'day', queue: 'a' });
    expect(today).toMatchObject({
      queue: 'a',
      type: 'work',
      created: 1,
      completed: 1,
      failed: 0,
      errorRate: 0,
    });
    expect(today!.since).toBeInstanceOf(Date);
    expect(today!.averageLatencyMs).toBeGreaterThanOrEqual(20);
    expect(await queue.metrics({ type: 'none' })).toEqual([]);
    await expect(queue.metrics({ since: 'today' })).rejects.toMatchObject({ code: 'bad_duration' });
  });

  test('are paused, with who and why and until when, and resumed', async () => {
    const queue = library.open();
    await queue.enqueue('work', {}, { queue: 'a' });
    expect(await queue.pauses()).toEqual([]);
    await queue.pauseQueue('a', { for: '1h', reason: 'the API is down', by: 'ann' });
    const [pause] = await queue.pauses();
    expect(pause).toMatchObject({
      queue: 'a',
      reason: 'the API is down',
      by: expect.stringContaining('ann'),
    });
    expect(pause!.until!.getTime() - pause!.since.getTime()).toBe(3_600_000);
    const worker = await registerWorker(library.admin);
    expect(await worker.claim({ queues: ['a'] })).toEqual([]);
    await queue.pauseQueue('a');
    expect(await queue.pauses()).toMatchObject([{ queue: 'a', until: null, reason: null }]);
    expect(await queue.resumeQueue('a', { by: 'ann' })).toBe(true);
    expect(await queue.resumeQueue('a')).toBe(false);
    expect(await worker.claim({ queues: ['a'] })).toHaveLength(1);
    await expect(queue.pauseQueue('a', { for: 0 })).rejects.toThrow('for: expected more than 0');
    await expect(queue.pauseQueue('')).rejects.toMatchObject({ code: 'bad_name' });
  });
});

describe('migrate', () => {
  const made: TestDatabase[] = [];
  afterEach(() => Promise.all(made.splice(0).map((database) => database.drop())));

  test('makes the schema that the queue then uses; a second call has nothing to do', async () => {
    const database = await emptyDatabase();
    made.push(database);
    const queue = new TaskQueue({ databaseUrl: database.url, directUrl: database.directUrl });
    await expect(queue.enqueue('work')).rejects.toMatchObject({ code: 'schema_missing' });
    expect(await queue.migrate()).toContain('schema taskq');
    expect(await queue.migrate()).toEqual([]);
    expect((await queue.enqueue('work', {}, { allowUnknown: true })).created).toBe(true);
    await queue.close();
    await expect(queue.migrate()).rejects.toMatchObject({ code: 'closed' });
  });

  test('waits for who holds what it changes, says whom, and gives up after its patience', async () => {
    const database = await emptyDatabase();
    made.push(database);
    const other = await database.client();
    await other.query("select pg_advisory_lock(hashtext('taskq.migrate'))");
    const blocked: string[] = [];
    const queue = new TaskQueue({ databaseUrl: database.directUrl });
    await expect(
      queue.migrate({ patience: '3s', onBlocked: (by) => blocked.push(by) }),
    ).rejects.toMatchObject({ code: 'schema_in_use' });
    expect(blocked[0]).toMatch(/\d/);
    await queue.close();
  });

  test('needs a URL: a pool has no connection to spare', async () => {
    const pool = openPool(library.url, 1);
    try {
      await expect(library.open({ pool }).migrate()).rejects.toMatchObject({ code: 'no_database' });
    } finally {
      await pool.end();
    }
  });
});
