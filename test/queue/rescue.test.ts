import { describe, expect, test } from 'vitest';
import { rescue as rescueByLibrary } from '../../src/queue/protocol/rescue.ts';
import {
  deadRow,
  enqueue,
  enqueueSome,
  finishedRow,
  lapse,
  liveRow,
  type Row,
  refuseChanges,
  refuseTask,
  rescueAll,
  silence,
  watchedWorkers,
} from './rows.ts';
import { useDatabase } from './session.ts';
import { type Claimed, claimOne, LEASE_MS, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

async function isDue(own = false, gapMs = 5000): Promise<boolean> {
  const isDueFor = 'select blocks is not null from taskq.begin_rescue($1, $2, null, $3, -1, $4)';
  return queue.admin.value(isDueFor, own, gapMs, [], await watchedWorkers(queue.admin));
}

/** Lets the last scan have begun, ended and cost so much. */
async function scanned(beganMsAgo: number, endedMsAgo: number, costMs: number): Promise<void> {
  await queue.admin.rows(
    `update taskq.rescue_scan set cost_ms = $3, started_at = clock_timestamp() - $1 * interval '1 ms',
       finished_at = clock_timestamp() - $2 * interval '1 ms'`,
    beganMsAgo,
    endedMsAgo,
    costMs,
  );
}

describe('whose tasks are taken', () => {
  test('those of a worker that is silent for a whole lease, once their lease ran out', async () => {
    const [lapsed, leased] = await enqueueSome(queue.admin, 2);
    const worker = await registerWorker(queue.admin);
    const [, kept] = await worker.claim({ start: 2 });
    await lapse(queue.admin, [lapsed!]);
    await silence(queue.admin, worker.id, LEASE_MS + 1000);
    expect(await rescueAll(queue.admin)).toMatchObject([{ id: lapsed, status: 'pending' }]);
    expect(await liveRow(queue.admin, lapsed!)).toMatchObject({
      status: 'pending',
      lease_owner: null,
      lease_expires_at: null,
      losses: 1,
      attempts: 0,
      releases: 0,
    });
    expect(await liveRow(queue.admin, leased!)).toMatchObject({
      status: 'running',
      lease_no: kept!.lease_no,
    });
  });

  test('those of a worker that has ended or is unknown', async () => {
    const ids = await enqueueSome(queue.admin, 2);
    const ended = await registerWorker(queue.admin);
    await claimOne(ended);
    await queue.admin.rows('select taskq.unregister_worker($1)', ended.id);
    await queue.admin.rows("select from taskq.claim(4711, '{default}', '{work}', 1, 0, 1000)");
    await lapse(queue.admin, ids);
    expect((await rescueAll(queue.admin)).map((task) => task.id)).toEqual(ids);
  });

  test('those of a live worker only ten leases after they ran out', async () => {
    const [now, late] = await enqueueSome(queue.admin, 2);
    const [worker, other] = [await registerWorker(queue.admin), await registerWorker(queue.admin)];
    await worker.claim({ start: 2 });
    await lapse(queue.admin, [now!], 10 * LEASE_MS - 60_000);
    await lapse(queue.admin, [late!], 10 * LEASE_MS + 60_000);
    expect(await rescueAll(queue.admin, other.id)).toEqual([]);
    await queue.admin.rows("update taskq.workers set steady_since = steady_since - interval '6 min'");
    expect(await rescueAll(queue.admin, other.id)).toMatchObject([{ id: late }]);
  });

  test("the caller's own that it does not know of, and not those that it does", async () => {
    const [known, unknown] = await enqueueSome(queue.admin, 2);
    const worker = await registerWorker(queue.admin);
    await worker.claim({ start: 2 });
    await lapse(queue.admin, [known!, unknown!]);
    expect(await rescueAll(queue.admin, worker.id, [known!])).toMatchObject([{ id: unknown }]);
  });

  test("the caller's own that it does not know of are not blamed: no handler started them", async () => {
    await queue.admin.rows(`select taskq.set_queue('default', '{"max_losses": 1}')`);
    const [unknown] = await enqueueSome(queue.admin, 1);
    const worker = await registerWorker(queue.admin);
    await worker.claim({ start: 1 });
    await lapse(queue.admin, [unknown!]);
    expect(await rescueAll(queue.admin, worker.id)).toMatchObject([{ id: unknown, status: 'pending' }]);
    expect(await liveRow(queue.admin, unknown!)).toMatchObject({ losses: 1 });
  });

  test('none whose lease has not expired', async () => {
    await enqueueSome(queue.admin, 3);
    const worker = await registerWorker(queue.admin);
    await worker.claim({ start: 1, ahead: 1 });
    await silence(queue.admin, worker.id, 10 * LEASE_MS);
    expect(await rescueAll(queue.admin, worker.id)).toEqual([]);
  });

  test('only what lies on the pages asked for', async () => {
    const ids = await enqueueSome(queue.admin, 500);
    const worker = await registerWorker(queue.admin);
    await worker.claim({ start: 500 });
    await queue.admin.rows('select taskq.unregister_worker($1)', worker.id);
    await lapse(queue.admin, ids);
    const page = 'select * from taskq.rescue($1, $2)';
    const first = await queue.admin.rows(page, 0, 2);
    const rest = await queue.admin.rows(page, 2, 1_000_000);
    expect(first.length).toBeGreaterThan(0);
    expect(first.length).toBeLessThan(250);
    expect(first.length + rest.length).toBe(500);
  });

  test('what another transaction has locked is left for the next time, at once', async () => {
    const [locked, free] = await enqueueSome(queue.admin, 2);
    const worker = await registerWorker(queue.admin);
    await worker.claim({ start: 2 });
    await lapse(queue.admin, [locked!, free!]);
    const other = await queue.session();
    await other.rows('begin');
    await other.rows("update taskq.tasks set tags = '{}' where id = $1", locked);
    const rescuer = await queue.session();
    await rescuer.rows("set statement_timeout = '20s'");
    expect(await rescueAll(rescuer, worker.id)).toMatchObject([{ id: free }]);
    await other.rows('commit');
    expect(await rescueAll(rescuer, worker.id)).toMatchObject([{ id: locked }]);
  });
});

/** Lets the database's clock have made a step: whatever was written before is so much earlier, or (negative) ahead. */
async function step(ms: number): Promise<void> {
  const by = "- $1 * interval '1 ms'";
  await queue.admin.rows(
    `update taskq.workers set heartbeat_at = heartbeat_at ${by}, steady_since = steady_since ${by},
       leases_until = leases_until ${by}`,
    ms,
  );
  await queue.admin.rows(
    `update taskq.rescue_scan set started_at = started_at ${by}, finished_at = finished_at ${by}`,
    ms,
  );
  await queue.admin.rows(
    `update taskq.tasks set lease_expires_at = lease_expires_at ${by}, created_at = created_at ${by},
       not_before = not_before ${by}, available_at = available_at ${by}, started_at = started_at ${by}`,
    ms,
  );
}

describe('for how long a worker was watched', () => {
  /** Looks without a scan, and tells for how long workers were watched. */
  const look = (watching: object = {}): Promise<Row> =>
    queue.admin.value("select extra -> 'quiet' from taskq.begin_rescue(_worker => 0, options => $1)", {
      watching,
      only_look: true,
    });

  test('is kept for those who watch it next, until it has a heartbeat', async () => {
    const worker = await registerWorker(queue.admin);
    await silence(queue.admin, worker.id, LEASE_MS);
    const [beat] = Object.values(await watchedWorkers(queue.admin));
    const watched = (watched_ms: number, beat_us = beat) => ({ [worker.id]: { beat_us, watched_ms } });
    expect(await look()).toMatchObject({ [worker.id]: { watched_ms: 0, is_late: true } });
    expect(await look(watched(700))).toMatchObject(watched(700));
    expect(await look(watched(300))).toMatchObject(watched(700));
    expect(await look(watched(900, beat! + 1))).toMatchObject(watched(700));
    await worker.heartbeat([]);
    await silence(queue.admin, worker.id, LEASE_MS);
    expect(await look(watched(900))).toMatchObject({ [worker.id]: { watched_ms: 0 } });
  });

  test('is left as it is while another transaction has its row, and no look scans', async () => {
    const worker = await registerWorker(queue.admin);
    await silence(queue.admin, worker.id, LEASE_MS);
    const [beat_us] = Object.values(await watchedWorkers(queue.admin));
    const other = await queue.session();
    await other.rows('begin');
    await other.rows('select from taskq.workers for update');
    await scanned(3_600_000, 3_600_000, 0);
    const watching = { [worker.id]: { beat_us, watched_ms: 700 } };
    expect(await look(watching)).toMatchObject({ [worker.id]: { watched_ms: 0 } });
    await other.rows('rollback');
    expect(await isDue()).toBe(true);
  });
});

const HOUR_MS = 3_600_000;

describe('after a step of the clock', () => {
  test.each([HOUR_MS, 24 * HOUR_MS, -HOUR_MS, -24 * HOUR_MS])(
    'of %d ms no worker is silent that had no time for a heartbeat yet, or has had one since',
    async (ms) => {
      const ids = await enqueueSome(queue.admin, 2);
      const [worker, other] = [await registerWorker(queue.admin), await registerWorker(queue.admin)];
      const tasks = await worker.claim({ start: 2 });
      const before = await watchedWorkers(queue.admin);
      await step(ms);
      const rescue = 'select * from taskq.rescue(0, 1000000, $1, $2, $3)';
      expect(await queue.admin.rows(rescue, other.id, [], {})).toEqual([]);
      expect(await queue.admin.rows(rescue, worker.id, [], {})).toEqual([]);
      await worker.heartbeat(tasks);
      expect(await queue.admin.rows(rescue, other.id, [], { watched: before })).toEqual([]);
      expect(await queue.admin.rows(rescue, worker.id, ids, {})).toEqual([]);
      await step(ms);
      expect(await queue.admin.rows(rescue, other.id, [], { watched: before })).toEqual([]);
    },
  );

  test.each([HOUR_MS, 24 * HOUR_MS, -HOUR_MS, -24 * HOUR_MS])(
    'of %d ms the tasks of a silent worker come back, and can be claimed at once',
    async (ms) => {
      const ids = await enqueueSome(queue.admin, 2);
      const [lost, other] = [await registerWorker(queue.admin), await registerWorker(queue.admin)];
      await lost.claim({ start: 2 });
      await step(ms);
      expect((await rescueAll(queue.admin, other.id)).map(({ id }) => id)).toEqual(ids);
      expect((await other.claim({ start: 2 })).map(({ id }) => id)).toEqual(ids);
    },
  );

  test('back, what a live worker does not know of comes back as well, by itself or by the net', async () => {
    const ids = await enqueueSome(queue.admin, 2);
    const [worker, other] = [await registerWorker(queue.admin), await registerWorker(queue.admin)];
    await worker.claim({ start: 2 });
    await step(-HOUR_MS);
    await worker.heartbeat([]);
    expect(await rescueAll(queue.admin, other.id)).toEqual([]);
    expect(await rescueAll(queue.admin, worker.id, [ids[0]!])).toMatchObject([{ id: ids[1] }]);
    await queue.admin.rows("update taskq.workers set steady_since = steady_since - interval '6 min'");
    expect(await rescueAll(queue.admin, other.id)).toMatchObject([{ id: ids[0] }]);
  });

  test('back, a claim that looks behind its cursor finds what is enqueued now', async () => {
    await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    const passed = await claimOne(worker);
    const aheadUs = Number(passed.available_at_us) + HOUR_MS * 1000;
    const cursor = Array.from({ length: 10 }, () => [aheadUs, Number(passed.id)]).flat();
    const id = await enqueue(queue.admin);
    expect(await worker.claim({ cursor })).toEqual([]);
    expect(await worker.claim({ cursor, lookBackMs: 2000 })).toMatchObject([{ id }]);
  });

  test('back, a scan is due at once, and again for the leases that a worker left which was written off before', async () => {
    await registerWorker(queue.admin);
    await scanned(6000, 6000, 60_000);
    expect(await isDue()).toBe(false);
    await step(-HOUR_MS);
    expect(await isDue()).toBe(true);
    await queue.admin.rows('delete from taskq.workers');
    await registerWorker(queue.admin);
    await scanned(6000, 6000, 60_000);
    await queue.admin.rows(
      "update taskq.workers set stopped_at = heartbeat_at, leases_until = clock_timestamp() + interval '1 hour'",
    );
    expect(await isDue()).toBe(true);
    await queue.admin.rows('select taskq.end_rescue(60000)');
    await scanned(6000, 6000, 60_000);
    expect(await isDue()).toBe(false);
  });

  test('back, what was due is due, a retry waits as long as it was to, and a time asked for stays', async () => {
    const options = { backoff: { kind: 'fixed', base_ms: 20_000, jitter: 0 } };
    const worker = await registerWorker(queue.admin);
    const retried = await enqueue(queue.admin, options);
    await worker.settle(outcome(await claimOne(worker), 'failed'));
    const passed = await enqueue(queue.admin, { delay_ms: 1 });
    const asked = await enqueue(queue.admin, { delay_ms: 600_000 });
    await queue.admin.rows('select pg_sleep(0.002)');
    await worker.heartbeat([]);
    const due = await enqueue(queue.admin);
    const bulk = await enqueueSome(queue.admin, 3);
    await step(-HOUR_MS);
    const delayed = await enqueue(queue.admin, { delay_ms: 60_000 });
    const { extra } = (await queue.admin.row<{ extra: { options: object } }>(
      'select extra from taskq.begin_rescue()',
    ))!;
    await queue.admin.rows('select from taskq.rescue(0, 1000000, options => $1)', extra.options);
    const [{ now }] = (await queue.admin.rows<{ now: Date }>('select clock_timestamp() as now')) as [
      { now: Date },
    ];
    const waits = async (id: string) =>
      ((await liveRow(queue.admin, id))!.available_at as Date).getTime() - now.getTime();
    for (const id of [due, passed, ...bulk]) expect(await waits(id)).toBeLessThanOrEqual(0);
    expect(await waits(delayed)).toBeGreaterThan(50_000);
    expect(await waits(retried)).toBeGreaterThan(10_000);
    expect(await waits(retried)).toBeLessThanOrEqual(21_000);
    expect(await waits(asked)).toBeGreaterThan(HOUR_MS);
    await queue.admin.rows('select taskq.end_rescue(0, $1)', extra.options);
    expect(await queue.admin.value('select count(clock_was)::integer from taskq.workers')).toBe(0);
  });

  const MINUTE_MS = 60_000;
  /** Scans all, as the first worker does that has its turn after the gap. */
  async function scan(): Promise<{ clock_was: string | null; is_last: boolean | null }> {
    await queue.admin.rows(
      `update taskq.rescue_scan set finished_at = '-infinity',
         started_at = case when started_at > clock_timestamp() then started_at else '-infinity' end`,
    );
    const { options } = await queue.admin.value<{
      options: { clock_was: string | null; is_last: boolean | null };
    }>('select extra from taskq.begin_rescue()');
    await queue.admin.rows('select from taskq.rescue(0, 1000000, options => $1)', options);
    await queue.admin.rows('select taskq.end_rescue(0, $1)', options);
    return options;
  }
  const waitsFor = async (id: string) =>
    Number(
      await queue.admin.value(
        `select extract(epoch from case when available_at < 'infinity' then available_at else not_before end
           - clock_timestamp()) * 1000 from taskq.tasks where id = $1`,
        id,
      ),
    );

  test.each([{}, { group: 'ann' }])('back, a time that was written since stays (%j)', async (options) => {
    const worker = await registerWorker(queue.admin);
    const other = await queue.session();
    const slow = {
      ...options,
      max_attempts: 9,
      backoff: { kind: 'fixed', base_ms: 10 * MINUTE_MS, jitter: 0 },
    };
    const [early, late] = [await enqueue(queue.admin, slow), await enqueue(queue.admin, slow)];
    const held = await worker.claim({ start: 2 });
    await worker.heartbeat(held.map((lease) => ({ ...lease, started_ms: 1 })));
    const edited = await enqueue(queue.admin, options);
    await other.rows('begin');
    await enqueue(other);
    await step(-HOUR_MS);
    const failed = (id: string) => worker.settle(outcome(held.find((task) => task.id === id)!, 'failed'));
    await failed(early);
    await queue.admin.rows('select taskq.edit($1, $2)', [edited], { delay_ms: 30 * MINUTE_MS });
    const asked = await enqueue(queue.admin, options);
    await queue.admin.rows(
      "update taskq.tasks set created_at = created_at + interval '30 min' where id = $1",
      asked,
    );
    await queue.admin.rows('select taskq.edit($1, $2)', [asked], { delay_ms: 90 * MINUTE_MS });
    expect(await scan()).toMatchObject({ is_last: false });
    await queue.admin.rows('select taskq.edit($1, $2)', [asked], { delay_ms: 45 * MINUTE_MS });
    await worker.heartbeat([]);
    await failed(late);
    expect(await scan()).toMatchObject({ is_last: false });
    for (const id of [early, late]) {
      expect(await waitsFor(id)).toBeGreaterThan(9 * MINUTE_MS);
      expect(await waitsFor(id)).toBeLessThanOrEqual(10 * MINUTE_MS);
    }
    expect(await waitsFor(edited)).toBeGreaterThan(29 * MINUTE_MS);
    expect(await waitsFor(asked)).toBeGreaterThan(44 * MINUTE_MS);
    // Nor does a smaller step, which is one of its own.
    const delayed = await enqueue(queue.admin, { ...options, delay_ms: 20 * MINUTE_MS });
    await queue.admin.rows("update taskq.rescue_scan set started_at = clock_timestamp() + interval '8 s'");
    await queue.admin.rows(
      "update taskq.tasks set created_at = created_at + interval '8 s' where id = $1",
      delayed,
    );
    expect((await scan()).is_last).toBe(false);
    expect(await waitsFor(delayed)).toBeGreaterThan(19 * MINUTE_MS);
    await other.rows('commit');
    // Those of other databases count as well.
    while ((await scan()).is_last === false) await queue.admin.rows('select pg_sleep(0.02)');
    expect((await scan()).clock_was).toBeNull();
  });

  test('back, a slot that was given by the clock before is given now, however old its task is', async () => {
    const id = await enqueue(queue.admin, { group: 'ann' });
    await queue.admin.rows(
      "update taskq.tasks set gate = 'h', status = 'pending', available_at = clock_timestamp()",
    );
    await registerWorker(queue.admin);
    await step(-HOUR_MS);
    await queue.admin.rows(
      "update taskq.tasks set created_at = created_at - interval '2 h', not_before = not_before - interval '2 h'",
    );
    await scan();
    expect(await waitsFor(id)).toBeLessThanOrEqual(0);
  });

  test('back, a held task is due when it is put back, although a heartbeat has corrected its start', async () => {
    await queue.admin.rows(`select taskq.set_queue('default', '{"group_rate": "100/1s"}')`);
    const id = await enqueue(queue.admin, { group: 'ann' });
    const worker = await registerWorker(queue.admin);
    const held = await claimOne(worker);
    await worker.heartbeat([{ ...held, started_ms: 1 }]);
    await step(-HOUR_MS);
    await queue.admin.rows(
      "update taskq.tasks set created_at = created_at - interval '2 h', started_at = clock_timestamp()",
    );
    await scan();
    await queue.admin.rows('select from taskq.put_back($1, clock_timestamp())', [id]);
    expect(await waitsFor(id)).toBeLessThanOrEqual(0);
  });

  test('back, in a dump of another server that had not ended the corrections, they end', async () => {
    await queue.admin.rows(
      'update taskq.rescue_scan set clock_was = clock_timestamp(), clock_xid = (pg_current_xact_id()::text::bigint + 100000)::text::xid8',
    );
    expect((await scan()).is_last).toBe(true);
    expect((await scan()).clock_was).toBeNull();
  });

  test.each([
    // The expression; how far the last tick is ahead, and the next one; whether it is computed anew, at any time and after a step.
    ['@hourly', 30_000, HOUR_MS - 30_000, false, false],
    ['@hourly', 2 * HOUR_MS, 3 * HOUR_MS, true, true],
    ['@hourly', -30 * MINUTE_MS, 24 * HOUR_MS, false, true],
    ['@hourly', null, 24 * HOUR_MS, false, true],
    ['@hourly', null, 30_000, false, false],
    ['@every 1h', null, 30 * MINUTE_MS, false, false],
    ['@every 1h', -30 * MINUTE_MS, 59 * MINUTE_MS, false, false],
    ['@every 1h', -30 * MINUTE_MS, 61 * MINUTE_MS, true, true],
    ['@every 10s', null, 30_000, true, true],
  ] as const)(
    'back, the next tick of %s, whose last was %j ms from now, in %d ms',
    async (expression, last, next, always, stepped) => {
      for (const [isStepped, isAnew] of [
        [false, always],
        [true, stepped],
      ]) {
        await queue.admin.rows("select taskq.set_schedule('s', $1, 'work')", expression);
        await queue.admin.rows(
          `update taskq.schedules set last_tick = clock_timestamp() + $1 * interval '1 ms',
           next_at = clock_timestamp() + $2 * interval '1 ms'`,
          last,
          next,
        );
        await queue.admin.rows('select taskq.rewind_schedules(clock_timestamp(), $1)', isStepped);
        expect(await queue.admin.value('select next_at is null from taskq.schedules')).toBe(isAnew);
      }
    },
  );
});

describe('what becomes of a task', () => {
  /** Claims it, running or ahead, and loses it. */
  async function lose(how: 'while it runs' | 'while it waits'): Promise<Claimed> {
    const worker = await registerWorker(queue.admin);
    const claimed = await claimOne(worker, { ahead: how === 'while it waits' ? 1 : 0 });
    if (how === 'while it runs') await worker.heartbeat([{ ...claimed, started_ms: 0 }]);
    await silence(queue.admin, worker.id, 2 * LEASE_MS);
    await lapse(queue.admin, [claimed.id]);
    await rescueAll(queue.admin);
    return claimed;
  }

  test('it keeps its place and its priority', async () => {
    const id = await enqueue(queue.admin, { priority: 7 });
    await enqueue(queue.admin, { priority: 7 });
    const before = await liveRow(queue.admin, id);
    const worker = await registerWorker(queue.admin);
    await claimOne(worker);
    await lapse(queue.admin, [id]);
    const [rescued] = await rescueAll(queue.admin, worker.id);
    expect(await liveRow(queue.admin, id)).toMatchObject({
      available_at: before!.available_at,
      not_before: before!.not_before,
      priority: 7,
    });
    const again = await claimOne(worker);
    expect(again).toMatchObject({ id, losses: 1, available_at_us: rescued!.available_at_us });
  });

  test('the list of errors names the worker that was lost', async () => {
    const id = await enqueue(queue.admin);
    const lost = await lose('while it runs');
    expect(await queue.admin.rows('select * from taskq.task_errors')).toMatchObject([
      {
        task_id: id,
        lease_no: lost.lease_no,
        attempt: 0,
        outcome: 'lost',
        error: {
          name: 'WorkerLost',
          message: 'worker plain:1:a was lost while it held the task (1 of 3)',
        },
      },
    ]);
  });

  test('it names the lease that was lost, also the last number before they start again from 1', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    await claimOne(worker);
    await queue.admin.rows('update taskq.tasks set lease_no = 2147483647 where id = $1', id);
    await silence(queue.admin, worker.id, 2 * LEASE_MS);
    await lapse(queue.admin, [id]);
    await rescueAll(queue.admin);
    expect(await liveRow(queue.admin, id)).toMatchObject({ lease_no: 1 });
    expect(await queue.admin.rows('select lease_no from taskq.task_errors where task_id = $1', id)).toEqual([
      { lease_no: 2147483647 },
    ]);
  });

  test('one that was claimed ahead becomes a suspect once, whatever is lost with it: no error is noted, nothing kills it', async () => {
    const id = await enqueue(queue.admin);
    for (let n = 0; n < 4; n++) await lose('while it waits');
    expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'pending', losses: 1 });
    expect(await queue.admin.rows('select * from taskq.task_errors')).toEqual([]);
  });

  test('one whose workers never live to start it is dead in the end, worker_lost', async () => {
    const id = await enqueue(queue.admin, { max_attempts: 2_147_483_647 });
    for (let n = 0; n < 6; n++) await lose('while it waits');
    expect(await deadRow(queue.admin, id)).toMatchObject({ reason: 'worker_lost', losses: 3, attempts: 0 });
    const noted = 'select outcome from taskq.task_errors where task_id = $1';
    expect(await queue.admin.rows(noted, id)).toEqual([{ outcome: 'lost' }, { outcome: 'lost' }]);
  });

  test('one that comes to an outcome, or is revived, is one like all others again', async () => {
    const id = await enqueue(queue.admin);
    for (const again of ['settle', 'revive']) {
      for (let n = 0; n < 4; n++) await lose('while it waits');
      expect(await liveRow(queue.admin, id)).toMatchObject({ losses: 1, lost_ahead: 3 });
      if (again === 'settle') {
        const worker = await registerWorker(queue.admin);
        await worker.settle(outcome(await claimOne(worker), 'snoozed', { delay_ms: 0 }));
      } else {
        await queue.admin.rows("select taskq.add_dead($1, 'r')", id);
        await queue.admin.rows('select taskq.revive(array[$1]::bigint[])', id);
      }
      expect(await liveRow(queue.admin, id)).toMatchObject({ losses: 0, lost_ahead: null });
    }
  });

  test('one that no worker survives to start ends, and no task that is claimed beside it does', async () => {
    const [first, poison, ...others] = await enqueueSome(queue.admin, 60);
    const innocents = [first!, ...others];
    let lost = 0;
    for (let claims = 0; claims < 200; claims++) {
      const worker = await registerWorker(queue.admin);
      const tasks = await worker.claim({ start: 4, ahead: 100 });
      if (tasks.length === 0) break;
      if (tasks.some(({ id }) => id === poison)) {
        lost += 1;
        await silence(queue.admin, worker.id, LEASE_MS + 1000);
        await lapse(
          queue.admin,
          tasks.map(({ id }) => id),
        );
        await rescueAll(queue.admin);
      } else {
        await worker.settle(...tasks.map((task) => outcome(task, 'completed')));
      }
    }
    expect(lost).toBeLessThanOrEqual(6);
    expect(await deadRow(queue.admin, poison!)).toMatchObject({ reason: 'worker_lost' });
    const completed =
      "select count(*)::int from taskq.finished_tasks where id = any ($1) and status = 'completed'";
    expect(await queue.admin.value(completed, innocents)).toBe(innocents.length);
  });

  test('a task that must run alone is claimed in its place, and none behind it is skipped', async () => {
    const [before, lone, behind] = await enqueueSome(queue.admin, 3);
    await queue.admin.rows('update taskq.tasks set losses = 1, lost_ahead = 3 where id = $1', lone);
    const worker = await registerWorker(queue.admin);
    const fromTheStart = Array<null>(22).fill(null);
    const text = `select id, running, extra from taskq.claim($1, '{default}', '{work}', 5, 0, 30000, $2, null, '{"looked": true}')`;
    const claim = (cursor: readonly (number | null)[]) => queue.admin.rows(text, worker.id, cursor);
    // Of the level of the lone one, and of what is less urgent, it says nothing: it has not read that to its end.
    const looked = { id: null, extra: { levels: 2 } };
    expect(await claim(fromTheStart)).toMatchObject([{ id: before, running: true }, looked]);
    expect(await claim(fromTheStart)).toMatchObject([{ id: lone, running: false }, looked]);
    expect(await claim(fromTheStart)).toMatchObject([{ id: behind }, { id: null, extra: { levels: 10 } }]);
  });

  test('one that was running when the third worker was lost with it is dead, worker_lost', async () => {
    const id = await enqueue(queue.admin, { max_attempts: 2_147_483_647 });
    await lose('while it runs');
    await lose('while it runs');
    const worker = await registerWorker(queue.admin);
    const task = await claimOne(worker);
    expect(task).toMatchObject({ losses: 2, running: false });
    await worker.heartbeat([{ ...task, started_ms: 0 }]);
    await lapse(queue.admin, [id]);
    expect(await rescueAll(queue.admin, worker.id)).toMatchObject([{ id, status: 'dead' }]);
    expect(await deadRow(queue.admin, id)).toMatchObject({
      reason: 'worker_lost',
      losses: 3,
      attempts: 0,
      error: { name: 'WorkerLost', message: 'its worker was lost 3 times' },
    });
  });

  test.each([
    [null, [null, {}, { last_chance: true }]],
    [1, [null, { last_chance: true }]],
    [2, [null, { last_chance: true }]],
    [4, [null, {}, {}, { last_chance: true }]],
  ])('with a limit of %s losses, a claim says which loss would be its last', async (most, extras) => {
    await queue.admin.rows("select taskq.set_queue('default', $1)", { max_losses: most });
    await enqueue(queue.admin);
    for (const [losses, extra] of extras.entries()) {
      await queue.admin.rows('update taskq.tasks set losses = $1', losses);
      const worker = await registerWorker(queue.admin);
      const task = await claimOne(worker);
      expect(task.losses).toBe(losses);
      expect(task.extra).toEqual(extra);
      await worker.giveBack([task], false);
    }
  });

  test('one that was lost twice and then waits in a worker that is lost is not dead: it had not started', async () => {
    const id = await enqueue(queue.admin);
    await lose('while it runs');
    await lose('while it runs');
    await lose('while it waits');
    expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'pending', losses: 2 });
  });

  test('an outcome in between begins the count anew', async () => {
    const id = await enqueue(queue.admin);
    await lose('while it runs');
    await lose('while it runs');
    const worker = await registerWorker(queue.admin);
    await worker.settle(outcome(await claimOne(worker), 'failed', { delay_ms: 0 }));
    await lose('while it runs');
    expect(await liveRow(queue.admin, id)).toMatchObject({ status: 'pending', losses: 1, attempts: 1 });
  });

  test('one with a request to cancel is cancelled, whatever its losses', async () => {
    const id = await enqueue(queue.admin);
    const worker = await registerWorker(queue.admin);
    await claimOne(worker);
    await queue.admin.rows("select taskq.cancel($1, 'stop')", [id]);
    await queue.admin.rows('update taskq.tasks set losses = 2');
    await lapse(queue.admin, [id]);
    expect(await rescueAll(queue.admin, worker.id)).toMatchObject([{ id, status: 'cancelled' }]);
    expect(await finishedRow(queue.admin, id)).toMatchObject({
      status: 'cancelled',
      cancel_reason: 'stop',
    });
  });

  test('a worker back from a long pause loses what was rescued and keeps what was not', async () => {
    const [taken, kept] = await enqueueSome(queue.admin, 2);
    const [paused, other] = [await registerWorker(queue.admin), await registerWorker(queue.admin)];
    const tasks = await paused.claim({ start: 2 });
    await silence(queue.admin, paused.id, 3 * LEASE_MS);
    await lapse(queue.admin, [taken!]);
    await rescueAll(queue.admin, other.id);
    await lapse(queue.admin, [kept!]);
    expect((await paused.heartbeat(tasks)).map((beat) => beat.answer)).toEqual(['lost', 'renewed']);
    expect(await rescueAll(queue.admin, other.id)).toEqual([]);
    const answers = await paused.settle(...tasks.map((task) => outcome(task, 'completed')));
    expect(answers.map((answer) => answer.answer)).toEqual(['lost', 'recorded']);
  });
});

describe('a scan is due', () => {
  test('at first, and as the net under everything when 20 times the cost of the last one is over', async () => {
    expect(await isDue()).toBe(true);
    await scanned(3_600_000, 1_080_000, 60_000);
    expect(await isDue()).toBe(false);
    await scanned(3_600_000, 1_320_000, 60_000);
    expect(await isDue()).toBe(true);
  });

  test('while a worker is silent for a lease, and for the leases that such a one left', async () => {
    const worker = await registerWorker(queue.admin);
    await scanned(60_000, 50_000, 60_000);
    expect(await isDue()).toBe(false);
    await silence(queue.admin, worker.id, LEASE_MS + 1000);
    expect(await isDue()).toBe(true);
    await scanned(60_000, 50_000, 60_000);
    await queue.admin.rows(
      "update taskq.workers set stopped_at = heartbeat_at, leases_until = clock_timestamp() + interval '1 min'",
    );
    expect(await isDue()).toBe(false);
    await queue.admin.rows("update taskq.workers set leases_until = clock_timestamp() - interval '1 ms'");
    expect(await isDue()).toBe(true);
  });

  test('when a worker lost the answer of a claim', async () => {
    await scanned(60_000, 50_000, 60_000);
    expect(await isDue(false)).toBe(false);
    expect(await isDue(true)).toBe(true);
  });

  test('never twice within the gap, of all workers together', async () => {
    const sessions = await Promise.all(Array.from({ length: 8 }, () => queue.session()));
    const begun = await Promise.all(
      sessions.map((session) =>
        session.rows('select from taskq.begin_rescue(true, 60000) where blocks is not null'),
      ),
    );
    expect(begun.flat()).toHaveLength(1);
    await scanned(30_000, 29_000, 0);
    expect(await isDue(false, 60_000)).toBe(false);
    await scanned(62_000, 61_000, 0);
    expect(await isDue(false, 60_000)).toBe(true);
  });

  test('within the gap for a lost claim, when 20 times the cost of the last one is over', async () => {
    await scanned(30_000, 29_000, 2000);
    expect(await isDue(true, 60_000)).toBe(false);
    await scanned(50_000, 49_000, 2000);
    expect(await isDue(true, 60_000)).toBe(true);
    await scanned(61_000, 60_000, 60_000);
    expect(await isDue(true, 60_000)).toBe(true);
  });

  test('a silent worker is written off by the scan that looked for it, and looked for once more', async () => {
    const worker = await registerWorker(queue.admin);
    await silence(queue.admin, worker.id, LEASE_MS + 1000);
    const row = () =>
      queue.admin.row<Row>(
        `select stopped_at = heartbeat_at as stopped, leases_until > clock_timestamp() + interval '10 s' as looked_for
         from taskq.workers`,
      );
    expect(await isDue()).toBe(true);
    await queue.admin.rows('select taskq.end_rescue(12.5, $1)', {
      watched: await watchedWorkers(queue.admin),
    });
    expect(await row()).toEqual({ stopped: true, looked_for: true });
    expect(
      await queue.admin.row('select cost_ms, finished_at > started_at as ended from taskq.rescue_scan'),
    ).toEqual({ cost_ms: 12.5, ended: true });
    await queue.admin.rows("update taskq.workers set leases_until = clock_timestamp() - interval '1 ms'");
    await scanned(60_000, 50_000, 60_000);
    expect(await isDue()).toBe(true);
    await queue.admin.rows('select taskq.end_rescue(1)');
    expect(await row()).toEqual({ stopped: true, looked_for: null });
  });

  test.each([
    ['in one statement', 4096],
    ['page by page where the table is large', 1],
  ])('the library runs the scan %s, returns what it brought back and closes it', async (_, pageBlocks) => {
    const ids = await enqueueSome(queue.admin, 200);
    const worker = await registerWorker(queue.admin);
    await worker.claim({ start: 200 });
    await lapse(queue.admin, ids);
    const size = "select pg_relation_size('taskq.tasks') / current_setting('block_size')::integer";
    expect(Number(await queue.admin.value(size))).toBeGreaterThan(2);
    const request = {
      caller: { workerId: worker.id, held: () => [ids[0]!], hasLostClaim: true },
      others: { silent: {} },
      scan: { gapMs: 600_000 },
      signal: new AbortController().signal,
    };
    const { rescued } = await rescueByLibrary(queue.admin, request, pageBlocks);
    expect(rescued!.map((task) => task.id).toSorted()).toEqual(ids.slice(1).toSorted());
    expect(await queue.admin.value('select finished_at > started_at from taskq.rescue_scan')).toBe(true);
    expect(await rescueByLibrary(queue.admin, request, pageBlocks)).toMatchObject({ rescued: undefined });
    expect(rescued![0]).toMatchObject({ queue: 'default', type: 'work', status: 'pending' });
    const age = Date.now() * 1000 - rescued![0]!.availableAtUs;
    expect(Math.abs(age)).toBeLessThan(60_000_000);
  });
});

describe('a task that a trigger keeps from its end', () => {
  /** Three that were lost, of which the second ends by it: as a dead letter, or as a cancelled one. */
  async function threeLost(table: 'dead_tasks' | 'finished_tasks'): Promise<string[]> {
    const ids = await enqueueSome(queue.admin, 3);
    const worker = await registerWorker(queue.admin);
    await worker.claim({ start: 3 });
    await queue.admin.rows(
      table === 'dead_tasks'
        ? 'update taskq.tasks set losses = 2 where id = $1'
        : 'update taskq.tasks set cancel_requested_at = clock_timestamp() where id = $1',
      ids[1],
    );
    await refuseTask(queue.admin, table, ids[1]!);
    await silence(queue.admin, worker.id, 2 * LEASE_MS);
    await lapse(queue.admin, ids);
    return ids;
  }

  test.each(['dead_tasks', 'finished_tasks'] as const)(
    'on %s stays as it is, with the error, and all others are brought back',
    async (table) => {
      const ids = await threeLost(table);
      const before = await liveRow(queue.admin, ids[1]!);
      expect((await rescueAll(queue.admin)).map(({ id, status }) => [id, status])).toEqual([
        [ids[0], 'pending'],
        [ids[1], 'refused'],
        [ids[2], 'pending'],
      ]);
      expect(await liveRow(queue.admin, ids[1]!)).toEqual(before);
      expect(await liveRow(queue.admin, ids[2]!)).toMatchObject({ status: 'pending', losses: 1 });
      const errors = 'select task_id from taskq.task_errors order by task_id';
      expect(await queue.admin.rows(errors)).toEqual([{ task_id: ids[0] }, { task_id: ids[2] }]);
    },
  );

  test.each([
    ['in one statement', 4096],
    ['page by page', 1],
  ])('is named by the library, and the scan is closed (%s)', async (_, pageBlocks) => {
    const ids = await threeLost('dead_tasks');
    await scanned(3_600_000, 3_600_000, 0);
    const { rescued } = await rescueByLibrary(
      queue.admin,
      {
        caller: { workerId: 0, held: () => [], hasLostClaim: true },
        others: { silent: await watchedWorkers(queue.admin) },
        scan: { gapMs: 5000 },
        signal: new AbortController().signal,
      },
      pageBlocks,
    );
    expect(rescued?.toSorted((a, b) => Number(a.id) - Number(b.id))).toMatchObject([
      { id: ids[0], status: 'pending' },
      { id: ids[1], status: 'refused', error: 'not allowed by the application' },
      { id: ids[2], status: 'pending' },
    ]);
    expect(await isDue()).toBe(false);
    const closed = "select finished_at > clock_timestamp() - interval '1 min' from taskq.rescue_scan";
    expect(await queue.admin.value(closed)).toBe(true);
  });
});

test('where a transaction keeps the row of the turn, it is named, and a scan out of turn brings tasks back', async () => {
  const [id] = await enqueueSome(queue.admin, 1);
  const worker = await registerWorker(queue.admin);
  await worker.claim({ start: 1 });
  await silence(queue.admin, worker.id, 2 * LEASE_MS);
  await lapse(queue.admin, [id!]);
  const other = await queue.session();
  await other.rows('begin');
  await other.rows("set local application_name = 'left open'");
  const pid = await other.value('select pg_backend_pid()');
  await other.rows('select from taskq.rescue_scan for update');
  const request = {
    caller: { workerId: 0, held: () => [], hasLostClaim: false },
    others: { silent: await watchedWorkers(queue.admin) },
    scan: { gapMs: 5000 },
    signal: new AbortController().signal,
  };
  const heldBy = { pid, application: 'left open' };
  expect(await rescueByLibrary(queue.admin, request)).toMatchObject({ rescued: undefined, heldBy });
  expect(
    await rescueByLibrary(queue.admin, { ...request, scan: { ...request.scan, outOfTurn: true } }),
  ).toMatchObject({
    rescued: [{ id, status: 'pending' }],
    heldBy,
  });
  await other.rows('rollback');
  expect((await rescueByLibrary(queue.admin, request)).heldBy).toBeUndefined();
});

test('one that a trigger refuses only at the commit stays as it is, and all others are brought back', async () => {
  const ids = await enqueueSome(queue.admin, 3);
  const worker = await registerWorker(queue.admin);
  await worker.claim({ start: 3 });
  await silence(queue.admin, worker.id, 2 * LEASE_MS);
  await lapse(queue.admin, ids);
  await refuseChanges(queue.admin, 'create constraint trigger', `old.id = ${ids[1]}`);
  expect((await rescueAll(queue.admin)).map(({ id, status }) => [id, status])).toEqual([
    [ids[0], 'pending'],
    [ids[1], 'refused'],
    [ids[2], 'pending'],
  ]);
});
