import { beforeAll, beforeEach, describe, expect, inject, onTestFinished, test } from 'vitest';
import type { RunningTaskq } from '../support/start-taskq.ts';
import { openWay } from './support/proxy.ts';
import { event, eventsOf, useWorkers } from './support/workers.ts';

/* ctx.transaction: what a handler writes through its client is committed with the completion of its task, or not at all. */

const TYPES = ['transact', 'transact-apart'];

/** Databases with a table that the handlers write to. */
function useEffects(per: 'test' | 'file' = 'test') {
  const queue = useWorkers(per);
  const before = per === 'test' ? beforeEach : beforeAll;
  before(() =>
    queue.rows(
      `create table effects (
        n bigint generated always as identity, task_id bigint not null, run integer not null,
        sole integer unique deferrable initially deferred
      )`,
    ),
  );
  return {
    queue,
    effectsOf: async (id: string) =>
      (await queue.rows<{ run: number }>('select run from effects where task_id = $1 order by n', id)).map(
        ({ run }) => run,
      ),
    /** What its attempts have recorded, in their order. */
    errorsOf: (id: string) =>
      queue.rows('select error from taskq.task_errors where task_id = $1 order by failed_at', id),
    /** Connections of handlers' transactions. */
    connections: () =>
      queue.value<number>(
        "select count(*)::integer from pg_stat_activity where datname = current_database() and application_name = 'taskq handlers'",
      ),
  };
}

describe('on a worker that goes on', () => {
  const { queue, effectsOf, errorsOf } = useEffects('file');
  let worker: RunningTaskq;
  beforeAll(() => {
    worker = queue.work();
  });

  describe.each(TYPES)('a handler of type %s', (type) => {
    test('has failed, with its own error and without a trace of what it wrote, when it throws', async () => {
      const id = await queue.enqueue(type, { ends: ['throw', 'snooze', 'return'] });
      await queue.hasStatus(id, 'completed');
      expect(await effectsOf(id)).toEqual([3]);
      expect(await queue.task(id)).toMatchObject({ attempts: 1 });
      const errors = await errorsOf(id);
      expect(errors).toMatchObject([{ error: { name: 'TypeError', message: 'not today' } }]);
    });

    test('has failed when its constraints fail at the commit, or when it went on after an error', async () => {
      const id = await queue.enqueue(type, {
        ends: ['fail at the commit', 'go on after an error', 'return'],
      });
      await queue.hasStatus(id, 'completed');
      expect(await effectsOf(id)).toEqual([3]);
      const errors = await errorsOf(id);
      expect(errors).toMatchObject([
        { error: { code: '23505' } },
        {
          error: {
            code: 'transaction_misused',
            message: expect.stringMatching(/statement in it had failed/),
          },
        },
      ]);
    });

    test('may use savepoints, and nothing that begins or ends its transaction', async () => {
      const id = await queue.enqueue(type, {
        ends: ['commit by hand', 'begin anew, unseen', 'use a savepoint'],
      });
      await queue.hasStatus(id, 'completed');
      expect(await effectsOf(id)).toEqual([3]);
      const errors = await errorsOf(id);
      expect(errors).toMatchObject([
        { error: { code: 'transaction_misused', message: expect.stringMatching(/savepoints/) } },
        { error: { code: '25000' } },
      ]);
      // What it commits unseen stays, and the task does not complete with it.
      const committed = await queue.enqueue(type, { ends: 'commit, unseen' }, { max_attempts: 1 });
      await queue.hasStatus(committed, 'dead');
      expect(await queue.task(committed)).toMatchObject({ error: { code: '25000' } });
    });

    test('changes nothing by what it does after its transaction', async () => {
      const afterwards = ['throw', 'another result', 'transact again', 'go on with the client'];
      const ids = await Promise.all(afterwards.map((after) => queue.enqueue(type, { after })));
      for (const id of ids) {
        await queue.hasStatus(id, 'completed');
        expect(await effectsOf(id)).toEqual([1]);
        expect(await queue.task(id)).toMatchObject({ result: { n: expect.any(Number) }, attempts: 0 });
      }
      // Once a minute for each type.
      await worker.waitForLog(
        (line) => line.event === 'outcome.ignored' && ids.includes(line.task_id as string),
      );
      for (const id of ids) expect(eventsOf(worker, 'task.failed', id)).toEqual([]);
      // It runs on under a lease that is no longer there.
      const id = await queue.enqueue(type, { after: 'wait' });
      await queue.hasStatus(id, 'completed');
      const asked = await queue.value<Date>('select clock_timestamp()');
      await expect
        .poll(() => queue.value('select bool_and(heartbeat_at > $1::timestamptz) from taskq.workers', asked))
        .toBe(true);
      await queue.witness(id, 'go on');
      await worker.waitForLog(event('task.completed', id));
      expect(eventsOf(worker, 'lease.lost', id)).toEqual([]);
    });

    test('that does not wait for its transaction ends when that ends', async () => {
      const id = await queue.enqueue(type, { after: 'leave', until: 'go' });
      await queue.saw(id, 'wrote');
      await queue.witness(id, 'go');
      await queue.hasStatus(id, 'completed');
      expect(await effectsOf(id)).toEqual([1]);
      expect(await queue.task(id)).toMatchObject({ result: { n: expect.any(Number) } });
    });

    test('is interrupted in the database at its timeout, and when it is cancelled', async () => {
      const late = await queue.enqueue(
        type,
        { ends: 'sleep in the database' },
        { timeout_ms: 500, max_attempts: 1 },
      );
      await queue.hasStatus(late, 'dead');
      expect(await queue.task(late)).toMatchObject({ error: { name: 'TimeoutError' } });
      const unwanted = await queue.enqueue(type, { ends: 'sleep in the database' });
      await queue.saw(unwanted, 'wrote');
      expect(await queue.run('cancel', unwanted)).toMatchObject({ code: 0 });
      await queue.hasStatus(unwanted, 'cancelled');
      await expect
        .poll(() =>
          queue.value(
            "select count(*)::integer from pg_stat_activity where datname = current_database() and query like 'select pg_sleep%'",
          ),
        )
        .toBe(0);
      for (const id of [late, unwanted]) expect(await effectsOf(id)).toEqual([]);
    });

    test('runs again when its connection is lost before the commit', async () => {
      const id = await queue.enqueue(type, { ends: ['lose the connection', 'return'] });
      await queue.hasStatus(id, 'completed');
      expect(await effectsOf(id)).toEqual([2]);
      expect(await queue.task(id)).toMatchObject({ attempts: 1 });
    });

    test('completes as any other does: its group goes on, its key is free, and what replaces it runs', async () => {
      await queue.rows(`select taskq.set_queue('lanes', '{"group_limit": 1}')`);
      const [first, second] = await Promise.all([
        queue.enqueue(type, { until: 'go' }, { queue: 'lanes', group: 'g' }),
        queue.enqueue(type, {}, { queue: 'lanes', group: 'g' }),
      ]);
      const keyed = await queue.enqueue(type, { until: 'go' }, { key: 'k' });
      const again = await queue.enqueue(type, { ends: ['again', 'return'] });
      await queue.saw(first, 'wrote');
      await queue.saw(keyed, 'wrote');
      const next = await queue.enqueue(type, {}, { key: 'k', on_held: 'replace' });
      await queue.witness(first, 'go');
      await queue.witness(keyed, 'go');
      for (const id of [first, second, keyed, again]) await queue.hasStatus(id, 'completed');
      await queue.drained();
      expect(
        await queue.value('select count(*)::integer from taskq.finished_tasks where id >= $1', first),
      ).toBe(6);
      expect(await queue.value('select count(*)::integer from effects where task_id >= $1', first)).toBe(6);
      expect(next).not.toBe('');
      await worker.waitForLog(event('task.completed', second));
    });
  });
});

describe('on a worker of its own', () => {
  const { queue, effectsOf, connections } = useEffects();

  describe.each(TYPES)('a handler of type %s', (type) => {
    test('completes its task together with what it wrote, after three leases of which no other lost its own', async () => {
      // A busy machine may take two seconds between two heartbeats.
      const env = { TASKQ_LEASE: '4s' };
      const worker = queue.work(['--types', type], { env });
      const others = queue.work(['--types', 'wait'], { env });
      const [id, mate] = [
        await queue.enqueue(type, { until: 'go' }),
        await queue.enqueue('wait', { until: 'go' }),
      ];
      await queue.saw(id, 'wrote');
      await queue.saw(mate, 'start');
      const began = await queue.value<Date>('select clock_timestamp()');
      await expect
        .poll(() =>
          queue.value(
            "select min(lease_expires_at) > $1::timestamptz + interval '16 seconds' from taskq.tasks where id = any ($2)",
            began,
            [id, mate],
          ),
        )
        .toBe(true);
      // Nobody has the row locked, and nothing is to be seen.
      await queue.rows('select from taskq.tasks where id = $1 for update nowait', id);
      expect(await effectsOf(id)).toEqual([]);
      await queue.witness(id, 'go');
      await queue.witness(mate, 'go');
      await queue.hasStatus(id, 'completed');
      await queue.hasStatus(mate, 'completed');
      expect(await effectsOf(id), worker.stdout()).toEqual([1]);
      const { result, losses, attempts } = await queue.task(id);
      expect(result).toMatchObject({ n: 1 });
      expect({ losses, attempts }).toEqual({ losses: 0, attempts: 0 });
      expect((result as { pid: number }).pid === worker.pid).toBe(type === 'transact');
      await worker.waitForLog(event('task.completed', id));
      expect([...eventsOf(worker, 'lease.lost'), ...eventsOf(others, 'lease.lost')]).toEqual([]);
    });

    // A pooler lends the session to others too; then it is left as it is.
    if (inject('pgbouncer') === undefined) {
      test('leaves nothing in the session to the next one', async () => {
        await queue.rows(`do $$ begin
        if to_regrole('other_role') is null then create role other_role; end if;
        grant all on schema taskq to other_role; grant all on all tables in schema public to other_role;
        grant execute on all functions in schema taskq to other_role;
      end $$`);
        queue.work(['--concurrency', '1']);
        const looked = async (ends: string) => {
          const id = await queue.enqueue(type, { ends });
          await queue.hasStatus(id, 'completed');
          return (await queue.task(id)).result as Record<string, unknown>;
        };
        const clean = await looked('look');
        expect(await looked('leave something behind')).toMatchObject({
          ...{ path: 'nowhere', timeout: '7s', tenant: 'acme', is_admin: false, prepared: 1, tables: 1 },
          ...{ locks: 1, cursors: 1 },
        });
        expect(await looked('look')).toEqual({ ...clean, tenant: '' });
        expect(clean).toMatchObject({
          is_admin: true,
          prepared: 0,
          channels: 0,
          tables: 0,
          locks: 0,
          cursors: 0,
        });
      });
    }

    test('leaves no trace when its lease is lost, and another worker completes its task', async () => {
      const worker = queue.work([], { env: { TASKQ_HEARTBEAT: '200ms' } });
      const id = await queue.enqueue(type, { until: ['never', 'go'] });
      await queue.saw(id, 'wrote');
      await queue.robbed(await worker.waitForLog(event('worker.started')));
      await worker.waitForLog(event('lease.lost', id));
      await queue.witness(id, 'go');
      await queue.hasStatus(id, 'completed');
      expect(await effectsOf(id)).toEqual([2]);
    });

    test('is waited for by a drain, and undone when the grace is over', async () => {
      const patient = queue.work(['--grace', '60s']);
      const id = await queue.enqueue(type, { until: 'go' });
      await queue.saw(id, 'wrote');
      patient.kill();
      await patient.waitForLog(event('worker.stopping'));
      await queue.witness(id, 'go');
      expect(await patient.exit).toMatchObject({ code: 0 });
      expect(await queue.task(id)).toMatchObject({ status: 'completed' });
      expect(await effectsOf(id)).toEqual([1]);

      const hasty = queue.work(['--grace', '100ms']);
      const undone = await queue.enqueue(type, { until: 'never' });
      await queue.saw(undone, 'wrote');
      hasty.kill();
      expect(await hasty.exit).toMatchObject({ code: 0 });
      expect(await queue.task(undone)).toMatchObject({ status: 'pending', attempts: 0 });
      expect(await effectsOf(undone)).toEqual([]);
      await expect.poll(connections).toBe(0);
    });

    test('completes its task once when the answer to its commit is lost', async () => {
      const way = await openWay(queue.url);
      onTestFinished(() => way.close());
      const worker = queue.work([], { url: way.url, env: { TASKQ_LEASE: '20s' } });
      const id = await queue.enqueue(type, { until: 'go' });
      await queue.saw(id, 'wrote');
      const lost = way.loseAnswerOf((asked) => asked.includes('complete_transaction'));
      await queue.witness(id, 'go');
      await lost;
      await worker.waitForLog(event('task.completed', id));
      expect(await queue.task(id)).toMatchObject({ status: 'completed', attempts: 0, result: { n: 1 } });
      expect(await effectsOf(id)).toEqual([1]);
      expect([...eventsOf(worker, 'task.failed'), ...eventsOf(worker, 'lease.lost')]).toEqual([]);
      // Nor is it known what becomes of a task that leaves no row.
      const none = await queue.enqueue(type, { until: 'go' }, { retention: 'none' });
      await queue.saw(none, 'wrote');
      const again = way.loseAnswerOf((asked) => asked.includes('complete_transaction'));
      await queue.witness(none, 'go');
      await again;
      await worker.waitForLog(event('task.completed', none));
      expect(await effectsOf(none)).toEqual([1]);
    });
  });

  test('a row that another transaction locks is waited for, and a task whose row stays locked runs again', async () => {
    queue.work(['--lease', '30s']);
    const session = await queue.session();
    const endsWhileLocked = async () => {
      const id = await queue.enqueue('transact', { until: 'go' });
      await queue.saw(id, 'wrote');
      await session.query('begin');
      await session.query("update taskq.tasks set progress = '1' where id = $1", [id]);
      await queue.witness(id, 'go');
      await expect.poll(waiting).toBe(1);
      return id;
    };

    const id = await endsWhileLocked();
    await session.query('commit');
    await queue.hasStatus(id, 'completed');
    expect(await effectsOf(id)).toEqual([1]);

    const stuck = await endsWhileLocked();
    await expect.poll(connections).toBe(0);
    await session.query('commit');
    await queue.hasStatus(stuck, 'completed');
    expect(await effectsOf(stuck)).toEqual([2]);
    const errors = await queue.rows('select error from taskq.task_errors where task_id = $1', stuck);
    expect(errors).toMatchObject([{ error: { code: '55P03' } }]);
  });

  /** How many transactions of handlers run a statement. */
  const waiting = () =>
    queue.value(
      "select count(*)::integer from pg_stat_activity where datname = current_database() and application_name = 'taskq handlers' and state = 'active'",
    );

  test('connections are made when a transaction begins, one for each slot at most', async () => {
    queue.work(['--concurrency', '3']);
    const before = await queue.enqueue('hello-js');
    await queue.hasStatus(before, 'completed');
    expect(await connections()).toBe(0);
    const ids = await queue.enqueueSome(9, 'transact', { until: 'go' });
    await expect.poll(connections).toBe(3);
    for (const id of ids) await queue.witness(id, 'go');
    await queue.drained();
    // A pooler runs each transaction on a connection of its choice.
    if (inject('pgbouncer') === undefined) expect(await connections()).toBe(3);
    expect(await queue.value('select count(*)::integer from effects')).toBe(9);
  });
});
