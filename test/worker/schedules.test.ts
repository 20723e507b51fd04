import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { event, eventsOf, until, useWorkers } from './support/workers.ts';

const queue = useWorkers();

interface Ended {
  readonly source: string;
  readonly result: unknown;
  readonly late_ms: number;
}

function set(name: string, expression: string, type = 'tick', options: object = {}) {
  return queue.rows(
    'select * from taskq.set_schedule($1, $2, $3, $4, $5)',
    ...[name, expression, type, '{}'],
    {
      allow_unknown: true,
      ...options,
    },
  );
}

/** The completed tasks of a schedule, by tick. */
function ended(name: string): Promise<Ended[]> {
  return queue.rows<Ended>(
    `select source, result, extract(epoch from started_at - split_part(source, '@', 2)::timestamptz) * 1000 as late_ms
     from taskq.finished_tasks where source like $1 and status = 'completed' order by source`,
    `schedule:${name}@%`,
  );
}

const atLeast = (name: string, count: number) =>
  until(
    async () => (await ended(name)).length >= count,
    async () => `${(await ended(name)).length} of ${count} ticks of ${name}`,
  );

const tickOf = ({ source }: Ended) => source.split('@')[1]!;

/** The seconds from the first tick to the last, each once. */
function secondsOf(all: readonly Ended[]): string[] {
  const [first, last] = [Date.parse(tickOf(all[0]!)), Date.parse(tickOf(all.at(-1)!))];
  return Array.from({ length: (last - first) / 1000 + 1 }, (_, nth) =>
    new Date(first + nth * 1000).toISOString(),
  );
}

test('each tick has one task while three workers fire, one of which is killed', async () => {
  const workers = [queue.work(), queue.work(), queue.work()];
  await Promise.all(workers.map((worker) => worker.waitForLog(event('worker.started'))));
  await set('beat', '* * * * * *', 'tick', { missed: 'all' });
  await atLeast('beat', 2);
  workers[0]!.kill('SIGKILL');
  await atLeast('beat', 5);
  await queue.rows("select taskq.pause_schedule('beat')");
  await until(
    async () => (await queue.value<string>('select count(*) from taskq.tasks')) === '0',
    async () => 'a task is left',
  );
  const all = await ended('beat');
  expect(all.map(tickOf)).toEqual(secondsOf(all));
  for (const { source, result } of all) expect(result).toEqual({ tick: source.split('@')[1] });
});

test('a schedule set elsewhere is fired by an idle worker, without waiting for its heartbeat', async () => {
  const worker = queue.work([], { env: { TASKQ_HEARTBEAT: '20s', TASKQ_LEASE: '60s', TASKQ_POLL: '20s' } });
  await worker.waitForLog(event('worker.started'));
  await until(
    async () => (await queue.rows('select from taskq.idle_marks')).length > 0,
    async () => 'the worker is not idle',
  );
  const began = performance.now();
  await set('soon', '@every 1s');
  await atLeast('soon', 1);
  expect(performance.now() - began).toBeLessThan(15_000);
});

describe('ticks that came while no worker ran', () => {
  test.each([
    ['skip', 0],
    ['latest', 1],
    ['all:3', 3],
    ['all:100', 6],
  ])('with --missed %s, %i tasks are enqueued', async (missed, count) => {
    const tick = new Date(Date.now() - 5.5 * 3_600_000).toISOString();
    await set('late', '@every 1h', 'tick', { missed, next_at: tick });
    const worker = queue.work();
    await until(
      async () => (await queue.value<Date>('select next_at from taskq.schedules')) > new Date(),
      async () => 'it has not moved on',
    );
    await atLeast('late', count);
    expect(await queue.value('select count(*)::integer from taskq.all_tasks')).toBe(count);
    if (count === 6) return expect(eventsOf(worker, 'schedule.passed')).toEqual([]);
    expect(await worker.waitForLog(event('schedule.passed'))).toMatchObject({ passed: 6 - count });
  });
});

test.each(['tick', 'tick-apart', 'tick-program'])('%s gets the tick', async (type) => {
  const tick = '2026-01-31T02:30:00.000Z';
  await set('past', '@every 10000d', type, { next_at: tick });
  queue.work();
  await atLeast('past', 1);
  expect((await ended('past'))[0]!.result).toEqual(type === 'tick-program' ? tick : { tick });
});

test('a schedule keeps no worker from being idle, and needs none that is not paused', async () => {
  await set('beat', '* * * * * *', 'nobody-handles-this');
  await queue.rows("select taskq.pause_schedule('beat')");
  expect(await queue.work(['--until-idle']).exit).toEqual({ code: 0, signal: null });
  await queue.rows(`select taskq.resume_schedule('beat')`);
  queue.work(['--paused']);
  await until(
    async () => (await queue.rows('select from taskq.tasks')).length > 0,
    async () => 'no tick has fired',
  );
});

test('--until-idle fires what is due before it ends, also if nothing else is to be done', async () => {
  await set('late', '@every 10000d', 'tick', { next_at: new Date(Date.now() - 3_600_000).toISOString() });
  await set('refused', '@daily', 'tick', { next_at: new Date(Date.now() - 3_600_000).toISOString() });
  await queue.rows(`update taskq.schedules set tz = 'Mars' where name = 'refused'`);
  const worker = queue.work(['--until-idle']);
  expect(await worker.exit).toEqual({ code: 0, signal: null });
  expect((await ended('late')).map(({ result }) => result)).toMatchObject([{ tick: expect.any(String) }]);
});

test('schedules of the configuration are added if they do not exist, and no other is changed', async () => {
  await set('kept', '@weekly');
  const path = join(await temporaryDirectory(), 'taskq.config.json');
  const tick = { expression: '@daily', type: 'tick' };
  await writeFile(path, JSON.stringify({ schedules: { kept: tick, added: tick } }));
  const worker = queue.work(['--config', path]);
  await worker.waitForLog(event('schedule.added'));
  expect(eventsOf(worker, 'schedule.added').map(({ schedule }) => schedule)).toEqual(['added']);
  expect(await queue.rows('select name, expression from taskq.schedules order by name')).toEqual([
    { name: 'added', expression: '@daily' },
    { name: 'kept', expression: '@weekly' },
  ]);
});

test('a schedule of the configuration that the database refuses keeps no other from being added', async () => {
  const path = join(await temporaryDirectory(), 'taskq.config.json');
  const tick = { expression: '@daily', type: 'tick' };
  await writeFile(path, JSON.stringify({ schedules: { odd: { ...tick, onDead: 'tick' }, added: tick } }));
  const worker = queue.work(['--config', path]);
  await worker.waitForLog(event('schedule.added'));
  await worker.waitForLog(event('statement.failed'));
  expect(await queue.rows('select name from taskq.schedules')).toEqual([{ name: 'added' }]);
});

test('however many cannot be fired, the others fire, also those that are late or not computed yet', async () => {
  await queue.rows(`insert into taskq.schedules (name, expression, tz, type, next_at)
    select 'odd' || n, '@daily', 'Mars', 'tick', case when n % 2 = 0 then now() - interval '9 days' end
    from generate_series(1, 150) as n`);
  await set('beat', '@every 1s');
  await set('late', '@every 10000d', 'tick', { next_at: new Date(Date.now() - 3_600_000).toISOString() });
  await set('soon', '@every 1s', 'tick', { next_at: new Date(Date.now() + 1000).toISOString() });
  queue.work();
  for (const name of ['soon', 'beat', 'late']) await atLeast(name, 1);
});

test('one that cannot be fired is logged, tried again, and stops no other', async () => {
  await queue.rows(`create function refuse() returns trigger language plpgsql as
    $$ begin if new.type = 'refused' then raise 'not this one'; end if; return new; end $$`);
  await queue.rows(
    'create trigger refuse before insert on taskq.tasks for each row execute function refuse()',
  );
  await set('refused', '@every 1s', 'refused');
  await queue.rows(
    "insert into taskq.schedules (name, expression, tz, type) values ('odd', '@daily', 'Mars', 'tick')",
  );
  await set('beat', '@every 1s');
  const worker = queue.work();
  await atLeast('beat', 2);
  await worker.waitForLog((line) => line.event === 'schedule.failed' && line.schedule === 'refused');
  await worker.waitForLog((line) => line.event === 'schedule.failed' && line.schedule === 'odd');
  expect(eventsOf(worker, 'schedule.failed').length).toBe(2);
  await queue.rows('drop trigger refuse on taskq.tasks');
  await until(
    async () => (await queue.rows("select from taskq.tasks where type = 'refused'")).length > 0,
    async () => 'it has not been fired again',
  );
});

test('one that may not replace the task of an earlier tick is logged as failed, with the reason', async () => {
  await set('beat', '@every 1s', 'nobody-handles-this', { overlap: 'replace' });
  const worker = queue.work();
  await worker.waitForLog(event('schedule.fired'));
  await set('beat', '@every 1s', 'tick', { overlap: 'replace' });
  const { error } = await worker.waitForLog(event('schedule.failed'));
  expect(error).toMatchObject({ message: expect.stringContaining('its type ("nobody-handles-this")') });
});

test('at rest it costs no statement: what fires next comes with the heartbeat and the idle mark', async () => {
  await queue.rows(
    "do $$ begin execute format('alter database %I set track_functions = pl', current_database()); end $$",
  );
  await set('later', '@daily');
  queue.work();
  const calls = async () =>
    Object.fromEntries(
      (
        await queue.rows<{ funcname: string; calls: string }>(
          "select funcname, calls from pg_stat_user_functions where schemaname = 'taskq'",
        )
      ).map(({ funcname, calls: number }) => [funcname, Number(number)]),
    );
  const after = async (more: number, { get_orders = 0, mark_idle = 0 }: Record<string, number> = {}) => {
    const isDone = (now: Record<string, number>) =>
      (now.get_orders ?? 0) >= get_orders + more && (now.mark_idle ?? 0) >= mark_idle + more;
    await until(
      async () => isDone(await calls()),
      async () => JSON.stringify(await calls()),
    );
    return calls();
  };
  // Its first tick is computed at the start, and once more if a heartbeat read the schedule just before.
  let before = await after(3);
  let now = before;
  const since = (name: string) => now[name]! - before[name]!;
  const state = async () => JSON.stringify({ before, now });
  await until(async () => {
    before = now;
    now = await after(5, before);
    return since('fire_schedule') === 0;
  }, state);
  // A session writes what it has counted function by function.
  await until(async () => {
    now = await calls();
    return since('upcoming_schedules') === since('get_orders') + since('mark_idle');
  }, state);
  expect(since('fire_schedule')).toBe(0);
});
