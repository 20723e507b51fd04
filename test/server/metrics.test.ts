import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { getSample } from '../../src/queue/inspect/get-sample.ts';
import { getVitals } from '../../src/queue/inspect/get-vitals.ts';
import { MOST_SERIES_OF, metricsOf } from '../../src/server/metrics.ts';
import { textOf } from '../../src/server/prometheus.ts';
import { RequestCounts } from '../../src/server/request-counts.ts';
import { claimOne, outcome, registerWorker } from '../queue/worker.ts';
import { knowTypes } from '../support/know-types.ts';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { sampled } from './sampled.ts';
import { useServer } from './use-server.ts';

const { database, open, ask } = useServer();

/** Asks for the metrics, again where a busy machine took too long, and returns their lines. */
async function scraped(): Promise<string[]> {
  const { status, body, headers } = await ask('GET', '/metrics');
  if (status === 503) return scraped();
  expect(status).toBe(200);
  expect(headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  return (body as string).split('\n');
}

/** Puts counts and sums of queues and types in. */
const put = (names: string) =>
  database.admin.rows(
    `with pair as (${names}),
     sampled as (
       insert into taskq.sample (blocked, pending, leased, running, dead, due, retrying, timed_out, oldest, queue, type)
       select 1, 2, 3, 4, 5, 6, 0, 0, '2030-01-01 00:00:00+00', queue, type from pair
     )
     insert into taskq.metrics (span, since, created, succeeded, wait_ms, queue, type, waits, runs)
     select 'all', '-infinity', 7, 3, 1500, queue, type, '{1,0,2,0,0,0,0,0,0,0,0,0,1}', array_fill(0::bigint, array[13])
     from pair`,
  );

function promtool(args: readonly string[], input: string) {
  const { stdout, stderr, status, error } = spawnSync('promtool', args, { input, encoding: 'utf8' });
  // In CI it must be there.
  if (error !== undefined && process.env.CI !== 'true') return { status: 0, said: '' };
  return { status, said: `${error ?? ''}${stdout}${stderr}` };
}

const checked = (text: string) => promtool(['check', 'metrics'], text);

test('promtool finds nothing wrong with them, and sees a fault', async () => {
  open();
  await ask('POST', '/api/v1/tasks', { body: { type: 'work' } });
  const worker = await registerWorker(database.admin);
  await worker.settle(outcome(await claimOne(worker), 'completed', { ran_ms: 700 }));
  await ask('POST', '/api/v1/queues/mail/pause', { body: {} });
  await ask('GET', '/api/v1/nowhere');
  await sampled(database.admin);
  const lines = await scraped();
  expect(checked(lines.join('\n'))).toEqual({ status: 0, said: '' });
  expect(checked('# HELP x Y\n# TYPE x counter\nx{a="\n"} 1\n').status).not.toBe(0);
  expect(lines).toEqual(
    expect.arrayContaining([
      'taskq_enqueued_total{queue="default",type="work"} 1',
      'taskq_ended_total{queue="default",type="work",status="completed"} 1',
      'taskq_attempts_total{queue="default",type="work",outcome="succeeded"} 1',
      'taskq_run_seconds_bucket{queue="default",type="work",le="0.5"} 0',
      'taskq_run_seconds_bucket{queue="default",type="work",le="1"} 1',
      'taskq_run_seconds_bucket{queue="default",type="work",le="+Inf"} 1',
      'taskq_run_seconds_sum{queue="default",type="work"} 0.7',
      'taskq_run_seconds_count{queue="default",type="work"} 1',
      'taskq_queue_paused{queue="mail"} 1',
      'taskq_workers{state="live"} 1',
      'taskq_lease_lost_total 0',
      'taskq_rescued_total 0',
      'taskq_http_requests_total{route="/api/v1/tasks",method="POST",code="201"} 1',
      'taskq_http_requests_total{route="_other",method="_other",code="404"} 1',
    ]),
  );
});

test('sums are cumulative, and times seconds', async () => {
  open();
  await put(`select 'q' as queue, 't' as type`);
  const lines = await scraped();
  const of = (name: string) => lines.filter((line) => line.startsWith(`taskq_${name}`));
  expect(of('tasks{').sort()).toEqual(
    ['blocked"} 1', 'dead"} 5', 'leased"} 3', 'pending"} 2', 'running"} 4'].map(
      (rest) => `taskq_tasks{queue="q",type="t",status="${rest}`,
    ),
  );
  expect(of('oldest')).toEqual(['taskq_oldest_due_timestamp_seconds{queue="q",type="t"} 1893456000']);
  expect(of('wait_seconds').map((line) => line.split(' ')[1])).toEqual([
    '1',
    '1',
    ...Array.from({ length: 10 }, () => '3'),
    '4',
    '1.5',
    '4',
  ]);
  // No sample was taken.
  expect(of('sample_timestamp_seconds')).toEqual([]);
});

test('the hundred largest of a hundred thousand types have series of their own, and names do no harm', async () => {
  await put(`select 'q' || (n % 200) as queue, case n when 7 then E'\\\\"\n} 1\r é' else 't' || n end as type
    from generate_series(1, 100000) n`);
  await database.admin.rows(
    `insert into taskq.queues (name, paused_at, paused_by) select 'paused' || n, now(), 'ann' from generate_series(1, 500) n`,
  );
  await database.admin.rows("update taskq.metrics set created = 1000 where type like '%é'");
  // Past the time limit of the server's own statements.
  const sample = await getSample(database.admin, MOST_SERIES_OF);
  const vitals = await getVitals(database.admin, MOST_SERIES_OF);
  const lines = textOf(metricsOf({ sample, vitals, requests: new RequestCounts() })).split('\n');
  expect(lines.filter((line) => line !== '' && !line.startsWith('#')).length).toBeLessThan(6000);
  expect(lines).toContain('taskq_enqueued_total{queue="q7",type="\\\\\\"\\n} 1\r é"} 1000');
  expect(lines).toContain('taskq_tasks{queue="_other",type="_other",status="dead"} 499500');
  expect(lines.filter((line) => line.startsWith('taskq_due_tasks'))).toHaveLength(101);
  expect(lines.filter((line) => line.startsWith('taskq_unhandled_tasks'))).toHaveLength(101);
  expect(checked(lines.join('\n'))).toEqual({ status: 0, said: '' });
});

test('a number that the database writes as JavaScript does not is printed: notifications that a listener has not read', async () => {
  open();
  const listener = await database.session();
  await listener.rows('listen kept');
  await listener.rows('begin');
  // One page of a million: 9.5e-7, which JavaScript writes with an exponent and the database without.
  await database.admin.rows(
    "select pg_notify('kept', repeat(n::text, 7000)) from generate_series(1, 2) as n",
  );
  const [ratio] = (await scraped()).filter((line) => line.startsWith('taskq_notification_queue_ratio '));
  expect(Number(ratio!.split(' ')[1])).toBeGreaterThan(0);
  await listener.rows('rollback');
});

describe('the examples', () => {
  const read = (name: string) => readFileSync(join(REPOSITORY, 'examples', name), 'utf8');
  test('promtool takes the alert rules', () => {
    const { status, said } = promtool(
      ['check', 'rules', join(REPOSITORY, 'examples/prometheus/alerts.yml')],
      '',
    );
    expect({ status, said }).toMatchObject({ status: 0 });
  });

  test('name metrics that there are', async () => {
    open();
    await registerWorker(database.admin);
    await knowTypes(database.admin.client, 'unhandled');
    for (const type of ['work', 'unhandled']) await ask('POST', '/api/v1/tasks', { body: { type } });
    await sampled(database.admin);
    const used = ['prometheus/alerts.yml', 'grafana/taskq.json'].flatMap(
      (name) => read(name).match(/taskq_[a-z_]+/g) ?? [],
    );
    expect(JSON.parse(read('grafana/taskq.json')).panels.length).toBeGreaterThan(15);
    const printed = new Set((await scraped()).map((line) => line.split(/[{ ]/)[0]));
    // Of a primary without a standby there is none.
    printed.add('taskq_replica_lag_seconds');
    expect([...new Set(used)].filter((name) => !printed.has(name))).toEqual([]);
    expect(used.length).toBeGreaterThan(30);
  });
});
