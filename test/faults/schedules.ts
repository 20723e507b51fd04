import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { connect, deadlocksOf, numberOf, startWorker, terminateSession, upTo } from './chaos.ts';
import type { Found, Killable, Testbed } from './scenario.ts';

/** Of an ordinary run; a short one starts fewer. */
const WORKERS = 20;
const SHORT_WORKERS = 4;
const ORDINARY_S = 20;

const CHAOS_MS = 250;
/** How long no worker runs, in the middle; and in a run of ten minutes. */
const DOWN_MS = 6000;
const LONG_DOWN_MS = 300_000;
const LONG_S = 600;
const REST_MS = 120_000;

/** Each fires every second; those of `every` have to fire all of their ticks. */
const SCHEDULES: Readonly<
  Record<string, { expression: string; missed: string; overlap?: string; jitter_ms?: number }>
> = {
  every1: { expression: '* * * * * *', missed: 'all:9999' },
  every2: { expression: '@every 1s', missed: 'all:9999' },
  every3: { expression: '*/1 * * * * *', missed: 'all:9999', jitter_ms: 700 },
  three: { expression: '* * * * * *', missed: 'all:3' },
  hundred: { expression: '* * * * * *', missed: 'all' },
  latest: { expression: '* * * * * *', missed: 'latest' },
  skip: { expression: '0 0 0 1 1 *', missed: 'skip' },
  alone: { expression: '* * * * * *', missed: 'all:9999', overlap: 'skip' },
};

/**
 * Workers race for schedules that fire every second, while they are killed, stopped for a while, and their sessions
 * terminated; in the middle none runs for some seconds. Handlers record for which tick and as which task they run. Each
 * tick has one task, none is missed that `missed` asks for, and no more are fired late than it allows.
 */
export async function schedules(testbed: Testbed, seconds: number): Promise<Found> {
  const { url } = testbed;
  const admin = await connect(url, 'admin');
  await admin.query(`
    create schema app;
    create table app.runs (
      schedule text not null, tick timestamptz not null, task_id bigint not null,
      at timestamptz not null default clock_timestamp()
    );
    insert into taskq.task_types (name, first_seen_at, last_seen_at) values ('tick', now(), now());
  `);
  const figures = { workers: 0, killed: 0, stopped: 0, terminated: 0, downMs: 0 };
  const count = seconds >= ORDINARY_S ? WORKERS : SHORT_WORKERS;
  const work = () => {
    figures.workers += 1;
    return startWorker(testbed, ['--lease', '3s', '--poll', '200ms', '--concurrency', '4']);
  };
  let workers: Killable[] = Array.from({ length: count }, work);
  await until(async () => (await numberOf(admin, 'select count(*) from taskq.workers')) >= count);
  for (const [name, { expression, ...options }] of Object.entries(SCHEDULES)) {
    await admin.query('select from taskq.set_schedule($1, $2, $3, $4, $5)', [
      ...[name, expression, 'tick', JSON.stringify({ schedule: name })],
      // A tick of the past that no worker has fired: `skip` passes it over.
      { ...options, ...(name === 'skip' && { next_at: '2020-01-01T00:00:00Z' }) },
    ]);
  }

  const disturb = async () => {
    const end = performance.now() + seconds * 500;
    while (performance.now() < end) {
      await sleep(CHAOS_MS * (0.5 + Math.random()));
      const which = upTo(workers.length);
      switch (upTo(4)) {
        case 0:
          workers[which]!.kill('SIGKILL');
          workers[which] = work();
          figures.killed += 1;
          break;
        case 1: {
          const stopped = workers[which]!;
          stopped.kill('SIGSTOP');
          setTimeout(() => stopped.kill('SIGCONT'), 500 + upTo(4000));
          figures.stopped += 1;
          break;
        }
        default:
          figures.terminated += await terminateSession(admin, 'taskq worker%');
      }
    }
  };
  await disturb();

  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all(workers.map(({ exit }) => exit));
  const [down] = (await admin.query<{ at: Date }>('select clock_timestamp() as at')).rows;
  await sleep(seconds >= LONG_S ? LONG_DOWN_MS : DOWN_MS);
  const [up] = (await admin.query<{ at: Date }>('select clock_timestamp() as at')).rows;
  figures.downMs = up!.at.getTime() - down!.at.getTime();
  workers = Array.from({ length: count }, work);
  await until(
    async () =>
      (await numberOf(admin, `select count(*) from app.runs where at > '${up!.at.toISOString()}'`)) > 0,
  );
  await disturb();
  // A busy machine may have taken all of that time to start workers.
  await until(async () => (await numberOf(admin, `select count(*) from (${NEVER_FIRED}) as s`)) === 0);

  await admin.query('select taskq.pause_schedule(name) from taskq.schedules');
  const atRest = await until(async () => (await numberOf(admin, 'select count(*) from taskq.tasks')) === 0);
  const faults = atRest
    ? []
    : [`${await numberOf(admin, 'select count(*) from taskq.tasks')} tasks are stuck`];
  faults.push(...(await faultsOf(admin, down!.at, up!.at)));
  const deadlocks = await deadlocksOf(admin);
  if (deadlocks > 0) faults.push(`${deadlocks} deadlocks`);
  if (seconds >= ORDINARY_S)
    for (const [what, reached] of Object.entries(figures))
      if (reached === 0) faults.push(`not reached: ${what}`);
  const ticks = await numberOf(admin, 'select count(distinct (schedule, tick)) from app.runs');
  const runs = await numberOf(admin, 'select count(*) from app.runs');
  for (const worker of workers) worker.kill('SIGKILL');
  await Promise.all(workers.map(({ exit }) => exit));
  await admin.end();
  return { faults, figures: { ...figures, ticks, runs, deadlocks } };
}

const NEVER_FIRED = `
  select s.name from taskq.schedules s
  where s.name <> 'skip' and not exists (select from app.runs r where r.schedule = s.name)`;

async function faultsOf(admin: pg.Client, down: Date, up: Date): Promise<string[]> {
  const faults: string[] = [];
  const find = async (what: string, text: string, ...values: unknown[]) => {
    const { rows } = await admin.query(text, values);
    if (rows.length > 0) faults.push(`${rows.length} ${what}, such as ${JSON.stringify(rows.slice(0, 3))}`);
  };
  await find(
    'ticks with two tasks',
    'select schedule, tick from app.runs group by 1, 2 having count(distinct task_id) > 1',
  );
  await find(
    'ticks missed',
    `select of.schedule, t.tick
     from (select schedule, min(tick) as first, max(tick) as last from app.runs group by 1) as of
     cross join generate_series(of.first, of.last, interval '1 second') as t (tick)
     -- 'all' fires a hundred, which is more than the workers of an ordinary run can have missed.
     where (of.schedule like 'every%' or (of.schedule = 'hundred' and $1::timestamptz - $2 < interval '60 s'))
       and not exists (select from app.runs r where r.schedule = of.schedule and r.tick = t.tick)`,
    up,
    down,
  );
  await find('schedules that never fired', NEVER_FIRED);
  await find("ticks fired that 'skip' passes over", `select tick from app.runs where schedule = 'skip'`);
  // What fired at once may have been too late for its own second.
  const late = `select schedule, count(distinct tick) from app.runs
    where schedule = $3 and tick > $1::timestamptz + interval '1 second' and tick < $2::timestamptz - interval '1 second'
    group by 1 having count(distinct tick) > $4::integer`;
  await find("more late ticks than 'latest' allows", late, down, up, 'latest', 1);
  await find("more late ticks than 'all:3' allows", late, down, up, 'three', 3);
  await find("more late ticks than 'all' allows", late, down, up, 'hundred', 100);
  await find(
    'outcomes lost',
    `select s.name from taskq.schedules s
     where s.last_tick is not null and not exists (select from app.runs r where r.task_id = s.last_task_id)`,
  );
  return faults;
}

/** Waits until it is so. Returns false where that takes too long. */
async function until(isSo: () => Promise<boolean>): Promise<boolean> {
  for (const end = performance.now() + REST_MS; performance.now() < end; await sleep(100)) {
    if (await isSo()) return true;
  }
  return false;
}
