import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TaskQueue } from 'taskq';
import { afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest';
import { openListener } from '../../src/lib/listener.ts';
import { sessionOf } from '../queue/session.ts';
import { waitUntil } from '../queue/waiting.ts';
import { createTestDatabase, emptyDatabase, type TestDatabase } from '../support/database.ts';
import { knowTypes } from '../support/know-types.ts';
import { type Pgbouncer, type PoolMode, startPgbouncer } from '../support/pgbouncer.ts';
import { runTaskq } from '../support/run-taskq.ts';
import { killStartedTaskqs, type RunningTaskq, startTaskq } from '../support/start-taskq.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

const program = inject('pgbouncer');

describe('behind PgBouncer', () => {
  let cwd: string;
  let database: TestDatabase;
  let pooler: Pgbouncer | undefined;

  beforeAll(async () => {
    cwd = await temporaryDirectory();
    await mkdir(join(cwd, 'handlers'));
    await writeFile(join(cwd, 'handlers/double.mjs'), 'export default ({ n }) => 2 * n;');
  });
  beforeEach(async () => {
    database = await createTestDatabase();
    await knowTypes(await database.client(), 'double');
  });
  afterEach(async () => {
    await killStartedTaskqs();
    await pooler?.stop();
    pooler = undefined;
    await database.drop();
  });

  /** Start one in this mode, and return the database's URL through it. */
  async function pooled(mode: PoolMode): Promise<string> {
    const directory = join(await temporaryDirectory(), 'pooler');
    pooler = await startPgbouncer({ program, directory, serverUrl: database.directUrl, mode });
    return pooler.through(database.directUrl);
  }

  const work = (env: Record<string, string>, args: readonly string[] = []): RunningTaskq =>
    startTaskq(['work', ...args], { cwd, env: { TASKQ_HEARTBEAT: '100ms', TASKQ_POLL: '50ms', ...env } });

  const warnings = (worker: RunningTaskq) =>
    worker.logs().filter(({ level }) => level !== 'info' && level !== 'debug');

  /** A worker that looks once an hour runs what it is notified of, and logs no warning. */
  async function expectToHear(env: Record<string, string>): Promise<void> {
    const worker = work({ ...env, TASKQ_POLL: '1h' });
    await worker.waitForLog(({ event }) => event === 'worker.started');
    const queue = new TaskQueue({ databaseUrl: database.directUrl });
    const admin = sessionOf(await database.client());
    // What is enqueued before it listens it does not hear of; nor of what it finds while it falls asleep.
    for (let round = 0, triesLeft = 20; round < 3 && triesLeft > 0; triesLeft--) {
      await waitUntil(
        () => admin.value<boolean>('select exists (select from taskq.idle_marks)'),
        'it is awake',
      );
      const { id } = await queue.enqueue('double', { n: 21 });
      const end = await queue.wait(id, { timeout: '5s' }).catch(() => undefined);
      if (end !== undefined) round += 1;
      expect(triesLeft, 'it is notified of nothing').toBeGreaterThan(1);
    }
    await queue.close();
    worker.kill();
    expect(await worker.exit).toEqual({ code: 0, signal: null });
    expect(warnings(worker)).toEqual([]);
  }

  describe('in transaction mode', () => {
    test('a worker logs once that it has to poll, and works', async () => {
      const url = await pooled('transaction');
      const worker = work({ DATABASE_URL: url });
      await worker.waitForLog(({ event }) => event === 'listening.failed');
      const queue = new TaskQueue({ databaseUrl: url });
      const ids: string[] = [];
      await queue.enqueueMany(
        Array.from({ length: 200 }, (_, n) => ({ type: 'double', payload: { n } })),
        { onEnqueued: (answers) => ids.push(...answers.map(({ id }) => id)) },
      );
      const ends = await Promise.all(ids.map((id) => queue.wait(id)));
      expect(ends.map((end) => end.status === 'completed' && end.result)).toEqual(ids.map((_, n) => 2 * n));
      await queue.close();
      worker.kill();
      expect(await worker.exit).toEqual({ code: 0, signal: null });
      expect(warnings(worker)).toMatchObject([
        { event: 'listening.failed', level: 'warn', msg: expect.stringContaining('directUrl') },
      ]);
    });

    test('what listens is not misled by a notification that comes by chance, with the answer to a statement', async () => {
      const connection = await pooled('transaction');
      const listeners = await Promise.all(
        Array.from({ length: 10 }, () =>
          openListener({
            connection,
            applicationName: 'test',
            channels: [],
            onNotification: () => {},
            deadlineMs: 10_000,
          }),
        ),
      );
      const received = await Promise.all(
        listeners.map(async ({ receivesNotifications, query }) => {
          let answer: boolean | undefined;
          void receivesNotifications.then((it) => (answer = it));
          while (answer === undefined) await query({ text: 'select pg_sleep(0.01)' });
          return answer;
        }),
      );
      await Promise.all(listeners.map((listener) => listener.close()));
      expect(received).toEqual(listeners.map(() => false));
    });

    test('it holds no lock that a session would have to keep', async () => {
      const url = await pooled('transaction');
      const worker = work({ DATABASE_URL: url });
      await worker.waitForLog(({ event }) => event === 'listening.failed');
      const locks = `select count(*) from pg_locks
        where locktype = 'advisory' and database = (select oid from pg_database where datname = current_database())`;
      expect(await sessionOf(await database.client()).value(locks)).toBe('0');
    });

    test('two workers fire a schedule through it, each tick once and none left out', async () => {
      const url = await pooled('transaction');
      const queue = new TaskQueue({ databaseUrl: url });
      const workers = [work({ DATABASE_URL: url }), work({ DATABASE_URL: url })];
      await Promise.all(
        workers.map((worker) => worker.waitForLog(({ event }) => event === 'worker.started')),
      );
      await queue.schedules.set('beat', {
        expression: '* * * * * *',
        type: 'double',
        payload: { n: 4 },
        missed: 'all',
      });
      const direct = sessionOf(await database.client());
      const ended = () =>
        direct.rows<{ source: string; result: number }>(
          "select source, result from taskq.finished_tasks where status = 'completed' order by source",
        );
      await waitUntil(async () => (await ended()).length >= 4, 'four ticks have fired');
      await queue.schedules.pause('beat');
      const ticks = (await ended()).map(({ source }) => Date.parse(source.split('@')[1]!));
      expect(ticks).toEqual(ticks.map((_, nth) => ticks[0]! + 1000 * nth));
      expect((await ended()).every(({ result }) => result === 8)).toBe(true);
      await queue.close();
    });

    test('with directUrl it listens past the pooler, and has nothing to say', async () => {
      await expectToHear({ DATABASE_URL: await pooled('transaction'), TASKQ_DIRECT_URL: database.directUrl });
    });

    test('a task is enqueued with the transaction of a client of the pooler, or not at all', async () => {
      const url = await pooled('transaction');
      const queue = new TaskQueue({ databaseUrl: url });
      const client = await database.client();
      await client.query('begin');
      await queue.enqueue('double', {}, { client });
      await client.query('rollback');
      expect((await queue.list().page()).tasks).toEqual([]);
      await queue.close();
    });

    test('migrate asks for the way past it, and takes that', async () => {
      const empty = await emptyDatabase();
      const url = (await pooled('transaction')).replace(database.name, empty.name);
      try {
        expect(await runTaskq(['migrate'], { cwd, env: { DATABASE_URL: url } })).toMatchObject({
          code: 2,
          stderr:
            'taskq: migrate needs a direct connection, and this one goes through a pooler — set directUrl ' +
            '(TASKQ_DIRECT_URL) to the URL of the server itself\n',
        });
        const env = { DATABASE_URL: url, TASKQ_DIRECT_URL: empty.directUrl };
        expect(await runTaskq(['migrate'], { cwd, env })).toMatchObject({ code: 0 });
        expect(await runTaskq(['stats'], { cwd, env: { DATABASE_URL: url } })).toMatchObject({ code: 0 });
      } finally {
        await empty.drop();
      }
    });
  });

  test('in session mode a worker listens through it, and has nothing to say', async () => {
    await expectToHear({ DATABASE_URL: await pooled('session') });
  });

  test.each([
    ['work', []],
    ['enqueue', ['double', '{"n":1}']],
    ['list', []],
  ])('in statement mode taskq %s refuses to start, and says why', async (command, args) => {
    const url = await pooled('statement');
    const { code, stderr } = await runTaskq([command, ...args], { cwd, env: { DATABASE_URL: url } });
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: expect.stringMatching(
        /^taskq: the pooler at postgres.* does not support transactions: transaction blocks not allowed in statement pooling mode — set its pool_mode to transaction or session, or connect to the server directly\n$/,
      ),
    });
  });
});
