import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { parseExpression } from '../../src/domain/schedule/expression.ts';
import { jitterOf } from '../../src/domain/schedule/jitter.ts';
import { tickOfSource } from '../../src/domain/schedule/tick-source.ts';
import { useDatabase } from './session.ts';
import { claimOne, outcome, registerWorker } from './worker.ts';

const queue = useDatabase();

interface Fired {
  readonly answer: string;
  readonly next_at: Date | null;
  readonly id: string | null;
  readonly created: boolean | null;
  readonly extra: unknown;
}

async function set(options: object = {}, { name = 's', expression = '* * * * *', type = 'work' } = {}) {
  const text = 'select created, next_at from taskq.set_schedule($1, $2, $3, $4, $5)';
  const row = await queue.admin.row<{ created: boolean; next_at: Date | null }>(
    text,
    ...[name, expression, type, '{"n": 1}', JSON.stringify(options)],
  );
  return row!;
}

/** A schedule whose tick of this many seconds ago has not fired yet. */
async function due(secondsAgo: number, options: object = {}): Promise<Date> {
  const tick = new Date(Math.floor(Date.now() / 1000 - secondsAgo) * 1000);
  await set({ ...options, next_at: tick.toISOString() });
  return tick;
}

async function fire(
  expected: Date | null,
  next: Date,
  options: object = {},
  session = queue.admin,
): Promise<Fired> {
  const text = 'select answer, next_at, id, created, extra from taskq.fire_schedule($1, $2, $3, $4)';
  return (await session.row<Fired>(text, 's', expected, next, JSON.stringify(options)))!;
}

interface TaskOfTick {
  readonly id: string;
  readonly source: string;
  readonly payload: unknown;
  readonly queue: string;
  readonly priority: number;
  readonly unique_key: string | null;
  readonly not_before: Date;
  readonly created_at: Date;
}

function tasks(): Promise<TaskOfTick[]> {
  return queue.admin.rows<TaskOfTick>('select * from taskq.tasks order by not_before, id');
}

const later = (at: Date, seconds: number) => new Date(at.getTime() + 1000 * seconds);

describe('firing', () => {
  test('enqueues the task of the tick with the options of the schedule, and moves on', async () => {
    const tick = await due(5, { queue: 'q', priority: 7 });
    const next = later(tick, 60);
    expect(await fire(tick, next)).toMatchObject({ answer: 'fired', next_at: next, created: true });
    const [task] = await tasks();
    expect(task).toMatchObject({ queue: 'q', priority: 7, payload: { n: 1 }, unique_key: null });
    expect(task!.source).toBe(`schedule:s@${tick.toISOString()}`);
    expect(tickOfSource(task!.source)).toBe(tick.toISOString());
    expect(await queue.admin.row('select next_at, last_tick, last_task_id from taskq.schedules')).toEqual({
      ...{ next_at: next, last_tick: tick, last_task_id: task!.id },
    });
  });

  test('a tick twice enqueues one task', async () => {
    const tick = await due(5);
    await fire(tick, later(tick, 60));
    expect(await fire(tick, later(tick, 60))).toMatchObject({ answer: 'changed', next_at: later(tick, 60) });
    expect(await tasks()).toHaveLength(1);
  });

  test('a tick that has not come by the clock of the database enqueues nothing', async () => {
    const tick = await due(-30);
    expect(await fire(tick, later(tick, 60))).toMatchObject({ answer: 'early', next_at: tick });
    const come = later(tick, -60);
    await queue.admin.rows('update taskq.schedules set next_at = $1', come);
    const ticks = [come.toISOString(), tick.toISOString()];
    expect(await fire(come, later(tick, 60), { ticks })).toMatchObject({ answer: 'early' });
    expect(await tasks()).toEqual([]);
  });

  test('does not wait for a schedule that another transaction has locked', async () => {
    const tick = await due(5);
    const other = await queue.session();
    await other.rows('begin');
    await other.rows('select from taskq.schedules for update');
    expect(await fire(tick, later(tick, 60))).toMatchObject({ answer: 'busy' });
    await other.rows('rollback');
    expect(await fire(tick, later(tick, 60))).toMatchObject({ answer: 'fired' });
  });

  test('that is rolled back leaves the tick to others', async () => {
    const tick = await due(5);
    const other = await queue.session();
    await other.rows('begin');
    expect(await fire(tick, later(tick, 60), {}, other)).toMatchObject({ answer: 'fired' });
    await other.rows('rollback');
    expect(await tasks()).toEqual([]);
    expect(await fire(tick, later(tick, 60))).toMatchObject({ answer: 'fired' });
  });

  test('by an expression or a time zone that the schedule no longer has is refused', async () => {
    const tick = await due(5);
    expect(await fire(tick, later(tick, 60), { expression: '@daily' })).toMatchObject({ answer: 'changed' });
    expect(await fire(tick, later(tick, 60), { tz: 'Europe/Berlin' })).toMatchObject({ answer: 'changed' });
    expect(await fire(tick, later(tick, 60), { expression: '* * * * *', tz: 'UTC' })).toMatchObject({
      answer: 'fired',
    });
  });

  test('several late ticks enqueues a task for each', async () => {
    const tick = await due(180);
    const ticks = [tick, later(tick, 60), later(tick, 120)].map((at) => at.toISOString());
    await fire(tick, later(tick, 180), { ticks });
    expect((await tasks()).map(({ source }) => tickOfSource(source))).toEqual(ticks);
  });

  test('no tick passes those that are over', async () => {
    const tick = await due(180);
    expect(await fire(tick, later(tick, 180), { ticks: [] })).toMatchObject({ answer: 'fired', id: null });
    expect(await tasks()).toEqual([]);
  });

  test.each([
    ['before next_at', [-60]],
    ['not before the next one', [60]],
    ['out of order', [0, 30, 20]],
    ['twice', [0, 0]],
  ])('a tick %s is an error of the caller', async (_what, seconds) => {
    const tick = await due(180);
    const ticks = seconds.map((second) => later(tick, second).toISOString());
    await expect(fire(tick, later(tick, 60), { ticks })).rejects.toMatchObject({ code: '22023' });
    await expect(fire(tick, tick)).rejects.toMatchObject({ code: '22023' });
    expect(await tasks()).toEqual([]);
  });

  test('sets the first tick of a schedule that came without one', async () => {
    await set();
    const next = later(new Date(), 60);
    expect(await fire(null, next, { ticks: [] })).toMatchObject({ answer: 'fired', next_at: next });
    expect(await fire(null, next, { ticks: [] })).toMatchObject({ answer: 'changed' });
  });

  test('a paused or removed schedule enqueues nothing', async () => {
    const tick = await due(5);
    await queue.admin.rows("select taskq.pause_schedule('s')");
    expect(await fire(tick, later(tick, 60))).toMatchObject({ answer: 'changed' });
    await queue.admin.rows("select taskq.remove_schedule('s')");
    expect(await fire(tick, later(tick, 60))).toMatchObject({ answer: 'gone' });
    expect(await tasks()).toEqual([]);
  });

  test('twenty sessions at once enqueue each tick once', async () => {
    const sessions = await Promise.all(Array.from({ length: 20 }, () => queue.session()));
    let tick = await due(600);
    for (let nth = 0; nth < 25; nth++) {
      const next = later(tick, 1);
      const answers = await Promise.all(sessions.map((session) => fire(tick, next, {}, session)));
      expect(answers.filter(({ answer }) => answer === 'fired')).toHaveLength(1);
      tick = next;
    }
    const ticks = (await tasks()).map(({ source }) => source);
    expect(ticks).toHaveLength(25);
    expect(new Set(ticks).size).toBe(25);
  });
});

describe('a mistake in fire_schedule would be seen:', () => {
  const file = new URL('../../sql/functions/api/fire_schedule.sql', import.meta.url);
  const text = readFileSync(file, 'utf8');
  afterEach(() => queue.admin.rows(text));

  async function fireBadly(pattern: string, replacement: string, secondsAgo: number): Promise<number> {
    expect(text).toContain(pattern);
    await queue.admin.rows(text.replace(pattern, replacement));
    const tick = await due(secondsAgo);
    const answers = [await fire(tick, later(tick, 60)), await fire(tick, later(tick, 60))];
    return answers.filter(({ answer }) => answer === 'fired').length;
  }

  test('a tick that is not compared', async () => {
    expect(await fireBadly('or its.next_at is distinct from _expected', '', 5)).toBe(2);
  });
  test('a schedule that does not move on', async () => {
    expect(await fireBadly('set next_at = _next,', 'set next_at = s.next_at,', 5).catch(() => 2)).toBe(2);
  });
  test('a tick that has not come', async () => {
    expect(await fireBadly('_expected > ts or ticks[cardinality(ticks)] > ts', 'false', -60)).toBe(1);
  });
});

describe('while the task of an earlier tick is live', () => {
  async function twice(overlap: string): Promise<readonly TaskOfTick[]> {
    const tick = await due(180, { overlap });
    await fire(tick, later(tick, 60));
    const second = await fire(later(tick, 60), later(tick, 120));
    expect(second.created).toBe(overlap === 'allow');
    return tasks();
  }

  test('allow enqueues another', async () => {
    expect((await twice('allow')).map(({ unique_key }) => unique_key)).toEqual([null, null]);
  });

  test('skip enqueues none', async () => {
    const [task, ...others] = await twice('skip');
    expect(others).toEqual([]);
    expect(task!.unique_key).toBe('schedule:s');
  });

  test('replace gives it the tick of the new one', async () => {
    const [task, ...others] = await twice('replace');
    expect(others).toEqual([]);
    const { last_tick } = (await queue.admin.row<{ last_tick: Date }>(
      'select last_tick from taskq.schedules',
    ))!;
    expect(tickOfSource(task!.source)).toBe(last_tick.toISOString());
  });

  test('replace lets one that runs end, and runs the new one after it', async () => {
    const tick = await due(180, { overlap: 'replace' });
    await fire(tick, later(tick, 60));
    const worker = await registerWorker(queue.admin);
    const held = await claimOne(worker);
    const second = later(tick, 60);
    await fire(second, later(tick, 120));
    await worker.settle(outcome(held, 'completed'));
    const [next, ...others] = await tasks();
    expect(others).toEqual([]);
    expect(next!.id).not.toBe(held.id);
    expect(tickOfSource(next!.source)).toBe(second.toISOString());
  });

  test('a task of another type is left alone, and the schedule says why its tick has none', async () => {
    const tick = await due(180, { overlap: 'replace' });
    const { id } = await fire(tick, later(tick, 60));
    await set({ overlap: 'replace', allow_unknown: true }, { type: 'other' });
    const error =
      `task ${id} holds the key "schedule:s" and is not replaced: its type ("work") or group is another;` +
      ' cancel it, or wait until it ends';
    expect(await fire(later(tick, 60), later(tick, 120))).toMatchObject({
      ...{ answer: 'fired', created: false, extra: { tasks: 0, error } },
    });
    expect(await tasks()).toHaveLength(1);
    const lastError = () => queue.admin.value('select last_error from taskq.list_schedules()');
    expect(await lastError()).toBe(error);
    expect(await queue.admin.value("select extra ->> 'error' from taskq.run_schedule('s')")).toBe(error);
    await queue.admin.rows('delete from taskq.tasks');
    expect(await fire(later(tick, 120), later(tick, 180))).toMatchObject({ created: true });
    expect(await lastError()).toBeNull();
  });
});

test('the jitter is a function of name and tick, the same in both languages', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ minLength: 1, unit: 'grapheme' }).filter((name) => !name.includes('\0')),
      fc.integer({ min: 0, max: 4e12 }),
      fc.integer({ min: 0, max: 86_400_000 }),
      async (name, tick, jitterMs) => {
        const text = 'select (extract(epoch from taskq.jitter_of($1, $2, $3)) * 1000)::bigint';
        const ms = Number(await queue.admin.value(text, name, new Date(tick), jitterMs));
        expect(jitterOf(name, tick, jitterMs)).toBe(ms);
        if (jitterMs > 0) expect(ms).toBeLessThan(jitterMs);
      },
    ),
    { numRuns: 100 },
  );
  const tick = await due(5, { jitter_ms: 3_600_000, delay_ms: 1000 });
  await fire(tick, later(tick, 60));
  const [task] = await tasks();
  expect(task!.not_before).toEqual(
    new Date(
      Math.max(task!.created_at.getTime(), tick.getTime() + 1000 + jitterOf('s', tick.getTime(), 3_600_000)),
    ),
  );
});

describe('setting a schedule', () => {
  test('is recorded with all that was set, and what it was before', async () => {
    await set({ tz: 'Europe/Berlin', by: 'ann' });
    await set({ overlap: 'skip', priority: 'high', by: 'bob' }, { expression: '@daily' });
    const first = { expression: '* * * * *', tz: 'Europe/Berlin', type: 'work', payload: { n: 1 } };
    const usual = { missed: 'latest', overlap: 'allow', jitter_ms: 0 };
    const second = { ...first, ...usual, expression: '@daily', tz: 'UTC', overlap: 'skip', priority: 1 };
    expect(await queue.admin.rows('select by, before, settings from taskq.audit order by id')).toEqual([
      { by: 'ann', before: null, settings: { schedule: 's', ...first, ...usual } },
      { by: 'bob', before: { ...first, ...usual }, settings: { schedule: 's', ...second } },
    ]);
  });

  test('again replaces it, and leaves what is due', async () => {
    const tick = await due(5);
    expect(await set({ queue: 'q', next_at: later(tick, 120) })).toEqual({ created: false, next_at: tick });
    expect(await queue.admin.value('select task_options from taskq.schedules')).toEqual({ queue: 'q' });
  });

  test('with another expression or time zone begins anew', async () => {
    const next = later(await due(5), 3600);
    expect(await set({ next_at: next }, { expression: '@hourly' })).toEqual({
      created: false,
      next_at: next,
    });
    expect(await set({ tz: 'Europe/Berlin' }, { expression: '@hourly' })).toMatchObject({ next_at: null });
  });

  test('never goes back to a tick that has fired', async () => {
    const tick = await due(5);
    await fire(tick, later(tick, 60));
    expect(await set({ next_at: tick }, { expression: '@hourly' })).toMatchObject({ next_at: null });
  });

  test('only if it is absent changes nothing', async () => {
    await due(5, { queue: 'q' });
    expect(await set({ queue: 'other', if_absent: true }, { expression: '@hourly' })).toMatchObject({
      created: false,
    });
    expect(await queue.admin.row('select expression, task_options from taskq.schedules')).toEqual({
      ...{ expression: '* * * * *', task_options: { queue: 'q' } },
    });
  });

  test('leaves the time limits of the transaction as they are', async () => {
    const session = await queue.session();
    await session.rows('begin');
    await session.rows("set local lock_timeout = '7s'");
    for (const name of ['s', 's']) {
      await session.rows(
        `select taskq.set_schedule($1, '@daily', 'work', '{}', '{"if_absent": true}')`,
        name,
      );
      expect(await session.value("select current_setting('lock_timeout')")).toBe('7s');
    }
    await session.rows('rollback');
  });

  test('is recorded with who did it', async () => {
    await set({ by: 'ann' });
    await queue.admin.rows("select taskq.pause_schedule('s', 'ann', 'moving')");
    await queue.admin.rows(`select taskq.resume_schedule('s', '{"by": "ann"}')`);
    await queue.admin.rows(`select taskq.run_schedule('s', '{"by": "ann"}')`);
    await queue.admin.rows(`select taskq.remove_schedule('s', '{"by": "ann"}')`);
    const actions = await queue.admin.rows<{ verb: string; by: string; schedule: string }>(
      "select verb, by, settings ->> 'schedule' as schedule from taskq.audit order by id",
    );
    expect(actions.map(({ verb }) => verb)).toEqual(
      ['set', 'pause', 'resume', 'run', 'remove'].map((verb) => `${verb} schedule`),
    );
    expect(new Set(actions.map(({ by, schedule }) => `${by} ${schedule}`))).toEqual(new Set(['ann s']));
  });

  test.each([
    ['a name of 201 bytes', { name: 'x'.repeat(201) }, {}, /name .*expected text of 1 to 200 bytes/],
    ['no name', { name: '' }, {}, /expected text of 1 to 200 bytes/],
    ['30 February', { expression: '0 0 30 2 *' }, {}, /expression .*fire some day/],
    ['an interval below a second', { expression: '@every 999ms' }, {}, /expression/],
    [
      'an unknown time zone',
      {},
      { tz: 'Mars/Olympus' },
      /tz "Mars\/Olympus": expected the name of a time zone/,
    ],
    ['an offset for a time zone', {}, { tz: '+05:00' }, /tz/],
    ['an unknown policy', {}, { missed: 'some' }, /missed "some": expected skip, latest, all, or all:n/],
    ['no late tick at all', {}, { missed: 'all:0' }, /missed/],
    ['an unknown overlap', {}, { overlap: 'wait' }, /overlap "wait": expected allow, skip or replace/],
    ['too much jitter', {}, { jitter_ms: 86_400_001 }, /jitter_ms/],
    ['jitter as text', {}, { jitter_ms: '30s' }, /jitter_ms/],
    ['a time for its tasks', {}, { at: '2030-01-01T00:00:00Z' }, /at/],
    ['an unknown option', {}, { foo: 1 }, /foo/],
    ['an invalid option', {}, { max_attempts: 0 }, /max_attempts 0/],
    ['a key beside an overlap', {}, { overlap: 'skip', key: 'k' }, /give no key/],
    ['a first tick that is none', {}, { next_at: 'soon' }, /next_at "soon"/],
    ['an unknown type', { type: 'wrok' }, {}, /unknown type "wrok"/],
  ])('with %s is refused, in one line, and stores nothing', async (_what, given, options, problem) => {
    const refusal = await set(options, given).then(
      () => undefined,
      (error: { code: string; message: string }) => error,
    );
    expect(refusal).toMatchObject({ code: '22023' });
    expect(refusal!.message).toMatch(problem);
    expect(refusal!.message).not.toContain('\n');
    expect(await queue.admin.rows('select from taskq.schedules')).toEqual([]);
  });
});

describe('a row put in by hand', () => {
  test('that never fires again is not fired, and says when it is', async () => {
    const tick = await due(5);
    await queue.admin.rows("update taskq.schedules set next_at = 'infinity'");
    expect(await fire(tick, later(tick, 60))).toMatchObject({ answer: 'changed' });
  });

  test.each([
    ["name = ''"],
    ["expression = '0 0 30 2 *'"],
    ["expression = '@every 0s'"],
    ["missed = 'all'"],
    ["overlap = 'wait'"],
    ['jitter_ms = -1'],
    ["task_options = '[]'"],
    ["next_at = '-infinity'"],
    ['last_tick = next_at'],
  ])('with %s is refused', async (change) => {
    await due(5);
    await expect(queue.admin.rows(`update taskq.schedules set ${change}`)).rejects.toMatchObject({
      code: '23514',
    });
  });
});

test('a clock that was far ahead when a tick fired, and went back, does not silence the schedule', async () => {
  const tick = await due(5);
  await fire(tick, later(tick, 60));
  const times = () => queue.admin.row('select last_tick, next_at from taskq.schedules');
  const before = await times();
  await queue.admin.rows('select taskq.maintain()');
  expect(await times()).toEqual(before);
  await queue.admin.rows(
    "update taskq.schedules set last_tick = last_tick + interval '1 day', next_at = next_at + interval '1 day'",
  );
  await queue.admin.rows('select taskq.maintain()');
  expect(await times()).toEqual({ last_tick: null, next_at: null });
  expect(await fire(null, later(tick, 60), { ticks: [] })).toMatchObject({ answer: 'fired' });
});

test('a clock that goes back by less than the time between two ticks does not fire one twice', async () => {
  const tick = await due(5);
  await fire(tick, later(tick, 60));
  await queue.admin.rows(
    "update taskq.schedules set last_tick = last_tick + interval '2 min', next_at = next_at + interval '1 day'",
  );
  const times = () => queue.admin.row('select last_tick, next_at from taskq.schedules');
  const before = await times();
  await queue.admin.rows('select taskq.maintain()');
  expect(await times()).toEqual(before);
});

test('SQL and TypeScript accept the same expressions', async () => {
  const element = fc.oneof(
    { weight: 6, arbitrary: fc.stringMatching(/^(\*|\d{1,2})(-\d{1,2})?(\/\d{1,2})?$/) },
    fc.constantFrom(
      '*',
      '0',
      '7',
      '8',
      '31',
      '32',
      'MON',
      'sat-sun',
      'SUN-SAT',
      'JAN',
      'feb-DEC/2',
      '*/0',
      '?',
      'L',
      '',
    ),
  );
  const field = fc.array(element, { minLength: 1, maxLength: 2 }).map((elements) => elements.join(','));
  const cron = fc.array(field, { minLength: 4, maxLength: 7 }).map((fields) => fields.join(' '));
  const mild = fc
    .tuple(fc.constantFrom('0', '*/5'), fc.constantFrom('*', '2'), ...Array.from({ length: 3 }, () => field))
    .map((fields) => fields.join(' '));
  const interval = fc.stringMatching(/^@every (\d{1,3}d)?(\d{1,3}h)?(\d{1,3}m)?(\d{1,4}s)?(\d{1,5}ms)?$/);
  const named = fc.constantFrom('@daily', '@weekly', '@reboot', '@', '@every', 'x', '');
  await fc.assert(
    fc.asyncProperty(fc.oneof(cron, mild, interval, named), async (text) => {
      let accepted = true;
      try {
        parseExpression(text);
      } catch {
        accepted = false;
      }
      expect(await queue.admin.value('select taskq.is_expression($1)', text), text).toBe(accepted);
    }),
    { numRuns: 1000, examples: [['0 9 * * fri-SUN'], ['0 9 * * SUN-SUN'], ['0 9 * JAN-SUN *']] },
  );
});

describe('pausing', () => {
  test('shows who and why, and resuming goes on from the next tick', async () => {
    const tick = await due(5);
    await queue.admin.rows("select taskq.pause_schedule('s', 'ann', 'moving')");
    const listed = 'select paused_by, pause_reason from taskq.list_schedules()';
    expect(await queue.admin.row(listed)).toEqual({ paused_by: 'postgres (ann)', pause_reason: 'moving' });
    const next = later(tick, 3600);
    const resume = `select taskq.resume_schedule('s', jsonb_build_object('next_at', $1::timestamptz))`;
    expect(await queue.admin.value(resume, next)).toBe(true);
    expect(await queue.admin.value(resume, next)).toBe(false);
    expect(await queue.admin.value('select next_at from taskq.schedules')).toEqual(next);
  });

  test('what does not exist answers that', async () => {
    const answers =
      'select taskq.pause_schedule($1) or taskq.resume_schedule($1) or taskq.remove_schedule($1)';
    expect(await queue.admin.value(answers, 'none')).toBe(false);
    expect(await queue.admin.rows("select * from taskq.run_schedule('none')")).toEqual([]);
  });
});

test('running one enqueues its task at once, without a tick, and moves nothing', async () => {
  const tick = await due(-3600, { overlap: 'skip', jitter_ms: 60_000, delay_ms: 60_000 });
  const run = 'select id, created from taskq.run_schedule($1)';
  const first = await queue.admin.row<{ id: string; created: boolean }>(run, 's');
  expect(first!.created).toBe(true);
  expect(await queue.admin.row(run, 's')).toEqual({ id: first!.id, created: false });
  const [task] = await tasks();
  expect(task).toMatchObject({ source: 'schedule:s', unique_key: 'schedule:s' });
  expect(task!.not_before).toEqual(task!.created_at);
  expect(await queue.admin.value('select next_at from taskq.schedules')).toEqual(tick);
});

test('those that fire next are read with the heartbeat and the idle mark', async () => {
  const tick = await due(-30);
  await set({}, { name: 'new' });
  await set({ next_at: 'infinity' }, { name: 'over' });
  await set({ next_at: tick }, { name: 'paused' });
  await queue.admin.rows("select taskq.pause_schedule('paused')");
  const { id } = await registerWorker(queue.admin);
  const read = [
    "select taskq.get_orders($1) -> 'schedules'",
    "select extra -> 'schedules' from taskq.mark_idle($1, null, 1000)",
    'select taskq.upcoming_schedules() from (select $1::integer) as w',
  ];
  for (const text of read) {
    const upcoming = await queue.admin.value<{ name: string; next_at: string | null; in_ms: number }[]>(
      text,
      id,
    );
    expect(upcoming.map(({ name }) => name)).toEqual(['new', 's']);
    expect(upcoming[0]).toMatchObject({ next_at: null, in_ms: null });
    expect(upcoming[1]!.in_ms).toBeGreaterThan(20_000);
    expect(Date.parse(upcoming[1]!.next_at!)).toBe(tick.getTime());
  }
});

describe.each(['repeatable read', 'serializable'])('a session whose transactions are %s', (level) => {
  async function begun() {
    const session = await queue.session();
    await session.rows(`begin isolation level ${level}`);
    await session.rows('select from taskq.schedules');
    return session;
  }
  const SET = "select created from taskq.set_schedule('s', '* * * * *', 'work', $1, $2)";

  test('sets a schedule and fires its tick, beside what others do', async () => {
    const setter = await begun();
    const tick = new Date(Math.floor(Date.now() / 1000 - 5) * 1000);
    expect(await setter.value(SET, '{"n": 1}', { next_at: tick.toISOString() })).toBe(true);
    await queue.admin.rows("select taskq.set_schedule('other', '* * * * *', 'work')");
    await setter.rows('commit');
    const firing = await begun();
    await queue.admin.rows("select taskq.enqueue('work')");
    expect(await fire(tick, later(tick, 60), {}, firing)).toMatchObject({ answer: 'fired' });
    await firing.rows('commit');
    expect((await tasks()).map(({ source }) => source)).toEqual([null, `schedule:s@${tick.toISOString()}`]);
  });

  test('is refused what is based on an old state of a schedule: no tick fires twice, and no change is lost', async () => {
    const tick = await due(5);
    const [firing, setting] = [await begun(), await begun()];
    expect(await fire(tick, later(tick, 60))).toMatchObject({ answer: 'fired' });
    await expect(fire(tick, later(tick, 60), {}, firing)).rejects.toMatchObject({ code: '40001' });
    await expect(setting.rows(SET, '{"n": 2}', {})).rejects.toMatchObject({ code: '40001' });
    for (const session of [firing, setting]) await session.rows('rollback');
    expect(await tasks()).toMatchObject([{ payload: { n: 1 } }]);
    const again = await begun();
    expect(await again.value(SET, '{"n": 2}', {})).toBe(false);
    await again.rows('commit');
    expect(await queue.admin.value('select payload from taskq.schedules')).toEqual({ n: 2 });
  });
});

test('by a clock that is behind the last tick, a schedule is set again and again, and its next tick comes after that', async () => {
  await set({ next_at: new Date(Date.now() + 60_000).toISOString() });
  await queue.admin.rows(
    `update taskq.schedules
     set last_tick = clock_timestamp() + interval '20 min', next_at = clock_timestamp() + interval '80 min'`,
  );
  const other = { expression: '*/5 * * * *' };
  const soon = { next_at: new Date(Date.now() + 300_000).toISOString() };
  for (let n = 0; n < 2; n++) expect(await set(soon, other)).toEqual({ created: false, next_at: null });
  // A worker that computes by its clock: told to wait, not refused by a constraint.
  expect(await fire(null, new Date(Date.now() + 300_000), { ticks: [] })).toMatchObject({ answer: 'early' });
  const { last_tick: last } = (await queue.admin.row<{ last_tick: Date }>(
    'select last_tick from taskq.schedules',
  ))!;
  const [upcoming] = await queue.admin.value<{ now_ms: number }[]>('select taskq.upcoming_schedules()');
  expect(upcoming!.now_ms).toBeGreaterThanOrEqual(last.getTime());
  const next = new Date(last.getTime() + 300_000);
  expect(await fire(null, next, { ticks: [] })).toMatchObject({ answer: 'fired', next_at: next });
});
