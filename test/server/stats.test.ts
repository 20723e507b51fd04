import { beforeEach, describe, expect, test } from 'vitest';
import { maySee } from '../../src/server/caller.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { knowTypes } from '../support/know-types.ts';
import { sampled } from './sampled.ts';
import { useServer } from './use-server.ts';

const { database, open, ask, token } = useServer();
const API = '/api/v1';

const enqueue = (type: string, queue: string, tasks = 1) =>
  database.admin.rows(
    `select taskq.enqueue($1, '{}', jsonb_build_object('queue', $2::text)) from generate_series(1, $3)`,
    type,
    queue,
    tasks,
  );

describe('the figures', () => {
  test('of no sample are empty', async () => {
    open();
    expect((await ask('GET', `${API}/stats`)).body).toMatchObject({
      sampledAt: null,
      ageMs: null,
      pairs: [],
      unhandledTypes: [],
      workers: { live: 0, slots: 0, heartbeatDelayMs: null },
    });
  });

  test('have each queue and type, the types that no worker handles, and the workers', async () => {
    open();
    await knowTypes(database.admin.client, 'mail');
    await enqueue('work', 'default', 3);
    await enqueue('mail', 'post');
    const worker = await registerWorker(database.admin);
    await registerWorker(database.admin);
    await database.admin.rows(
      'update taskq.workers set paused_at = clock_timestamp() where id <> $1',
      worker.id,
    );
    await worker.settle(outcome(await claimOne(worker), 'completed', { ran_ms: 700 }));
    await sampled(database.admin);
    const { body } = await ask('GET', `${API}/stats`);
    expect(body).toMatchObject({
      sampledAt: expect.any(String),
      pairs: [
        { queue: 'default', type: 'work', due: 2, created: 3, ended: { completed: 1 }, runMs: 700 },
        { queue: 'post', type: 'mail', counts: { pending: 1 } },
      ],
      unhandledTypes: ['mail'],
      workers: { live: 1, paused: 1, stopping: 0, silent: 0, busy: 0 },
    });
    expect(body.workers.slots).toBeGreaterThan(1);
    expect(body.workers.heartbeatDelayMs).toBeGreaterThanOrEqual(0);
  });

  test('a token for some queues sees these alone, as they are in SQL and in a path', async () => {
    const server = open({ authorize: () => null });
    await knowTypes(database.admin.client, 'other');
    const queues = ['mail', 'mail-1', 'mail_1', 'mailx1', '100%', '100x', 'a\\b', 'a*b', 'aXb', 'ab', 'b'];
    for (const queue of queues) await enqueue(queue === 'b' ? 'other' : 'work', queue);
    await sampled(database.admin);
    for (const patterns of [
      ['mail-*', 'b'],
      ['mail_1'],
      ['100%'],
      ['a\\b'],
      ['a*b'],
      ['*1'],
      ['*'],
      ['none'],
    ]) {
      const bearer = await token({ role: 'viewer', queues: patterns });
      const { body } = await ask('GET', `${API}/stats`, { server, token: bearer });
      expect(body.pairs.map(({ queue }: { queue: string }) => queue).sort()).toEqual(
        queues.filter((queue) => maySee({ role: 'viewer', queues: patterns }, queue)).sort(),
      );
      expect(body.workers).toBeNull();
      expect(body.unhandledTypes.includes('other')).toBe(patterns.includes('b') || patterns.includes('*'));
      const { points } = (await ask('GET', `${API}/series`, { server, token: bearer })).body;
      const created = points.reduce((sum: number, point: { created: number }) => sum + point.created, 0);
      expect(created).toBe(body.pairs.length);
    }
  });
});

describe('what happened over time', () => {
  beforeEach(async () => {
    await database.admin.rows(
      `insert into taskq.metrics
         (span, since, queue, type, created, completed, succeeded, failed, waits, runs)
       select x.span, x.since, 'mail', x.type, 3, 2, 2, 1, '{4,0,0,0,0,0,0,0,0,0,0,0,0}',
         '{0,0,10,0,0,0,0,0,0,0,0,0,10}'
       from (
         select 'minute' as span, t.now - interval '10 min' as since, 'a' as type
         from (select date_trunc('minute', clock_timestamp(), 'UTC') as now) as t
         union all
         select 'minute', t.now - interval '10 min', 'b'
         from (select date_trunc('minute', clock_timestamp(), 'UTC') as now) as t
         union all
         select 'hour', date_trunc('hour', clock_timestamp(), 'UTC') - interval '10 hours', 'a'
         union all
         select 'day', date_trunc('day', clock_timestamp(), 'UTC') - interval '70 days', 'a'
       ) as x`,
    );
  });

  const total = (points: readonly { created: number }[]) =>
    points.reduce((sum, { created }) => sum + created, 0);

  test('has a point for each step, also where nothing happened', async () => {
    open();
    const { body } = await ask('GET', `${API}/series?span=1h`);
    expect(body.stepMs).toBe(60_000);
    expect(body.points).toHaveLength(60);
    expect(total(body.points)).toBe(6);
    const times = body.points.map(({ at }: { at: string }) => Date.parse(at));
    expect(times).toEqual(times.map((_: number, place: number) => times[0] + place * 60_000));
    expect(Date.parse(body.until)).toBeLessThanOrEqual(times.at(-1) + 60_000);
    expect(Date.parse(body.until)).toBeGreaterThan(times.at(-1));
    const [point] = body.points.filter(({ created }: { created: number }) => created > 0);
    // Half of the attempts ran for 25 to 100 ms, the others for longer than the last bound, 6 h.
    expect(point).toMatchObject({
      completed: 4,
      attempts: { succeeded: 4, failed: 2, snoozed: 0, lost: 0 },
      waitMs: { p50: 2.5, p95: 4.8 },
      runMs: { p50: 100, p95: 21_600_000 },
    });
    expect(body.points[0]).toMatchObject({ created: 0, waitMs: null, runMs: null });
    expect(total((await ask('GET', `${API}/series?type=b`)).body.points)).toBe(3);
    expect(total((await ask('GET', `${API}/series?queue=other`)).body.points)).toBe(0);
    expect(total((await ask('GET', `${API}/series?until=15m`)).body.points)).toBe(0);
  });

  test.each([
    ['1m', 1, 60_000],
    ['6h', 360, 60_000],
    ['361m', 181, 120_000],
    ['24h', 288, 300_000],
    ['7d', 168, 3_600_000],
    ['30d', 360, 7_200_000],
    ['60d', 360, 14_400_000],
    ['90d', 90, 86_400_000],
    ['400d', 200, 172_800_000],
  ])('of %s it has %d points', async (span, points, stepMs) => {
    open();
    const { body } = await ask('GET', `${API}/series?span=${span}`);
    expect(body.stepMs).toBe(stepMs);
    expect(body.points).toHaveLength(points);
    expect(total(body.points)).toBe(span === '1m' ? 0 : stepMs >= 3_600_000 ? 3 : 6);
  });

  test.each(['span=30s', 'span=401d', 'span=soon', 'until=when', 'queue=', 'spam=1h'])(
    'refuses %s',
    async (query) => {
      open();
      expect((await ask('GET', `${API}/series?${query}`)).status).toBe(400);
    },
  );
});
