import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { createProject, type Project } from './project.ts';

let project: Project;

beforeAll(async () => {
  project = await createProject();
});
beforeEach(() => project.client.query('truncate taskq.tasks, taskq.schedules'));
afterAll(() => project.drop());

const run = (...args: string[]) => project.run(['schedule', ...args]);

/** What it prints, where it succeeds. */
async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trimEnd();
}

const stored = async () =>
  (await project.client.query('select * from taskq.schedules order by name')).rows as Record<
    string,
    unknown
  >[];

describe('taskq schedule add', () => {
  test('stores the schedule, its options and its next tick', async () => {
    expect(
      await printed(
        ...[
          'add',
          'nightly',
          '30 2 * * mon-fri',
          'double',
          '{"n":1}',
          '--tz',
          'Europe/Berlin',
          '--missed',
          'all',
        ],
        ...['--jitter', '30s', '--queue', 'q', '--priority', 'low', '--tag', 'a=b', '--max-attempts', '5'],
      ),
    ).toMatch(/^schedule nightly is added: it fires next at \S+ \S+ local time \(in .*\)$/);
    const [schedule] = await stored();
    expect(schedule).toMatchObject({
      ...{ expression: '30 2 * * MON-FRI', tz: 'Europe/Berlin', type: 'double', payload: { n: 1 } },
      ...{ missed: 'all:100', overlap: 'allow', jitter_ms: '30000' },
      task_options: { queue: 'q', priority: 3, tags: { a: 'b' }, max_attempts: 5 },
    });
    expect((schedule!.next_at as Date).getTime()).toBeGreaterThan(Date.now());
  });

  test('replaces one of the same name, and leaves its pause', async () => {
    await printed('add', 'nightly', '@daily', 'double');
    await printed('pause', 'nightly', '--reason', 'deploy');
    expect(await printed('add', 'nightly', '@hourly', 'double')).toContain('schedule nightly is changed');
    expect(await stored()).toMatchObject([{ expression: '@hourly', pause_reason: 'deploy' }]);
  });

  test.each([
    ['an unknown time zone', ['x', '@daily', 'double', '--tz', 'Mars'], '--tz "Mars": unknown time zone'],
    [
      'a misspelt time zone',
      ['x', '@daily', 'double', '--tz', 'Europe/Berln'],
      '(did you mean "Europe/Berlin"?)',
    ],
    ['a misspelt policy', ['x', '@daily', 'double', '--missed', 'latst'], '(did you mean "latest"?)'],
    ['a misspelt interval', ['x', '@evry 90s', 'double'], '(did you mean "@every"?)'],
    ['30 February', ['x', '0 0 30 2 *', 'double'], 'never fires'],
    ['an interval below a second', ['x', '@every 999ms', 'double'], 'at least 1s'],
    ['a name of 201 bytes', ['x'.repeat(201), '@daily', 'double'], 'expected at most 200 bytes'],
    ['no expression', ['x', 'daily', 'double'], 'expected 5 or 6 cron fields'],
    ['an unknown type', ['x', '@daily', 'duoble'], 'did you mean "double"'],
    ['an unknown callback', ['x', '@daily', 'double', '--on-dead', 'duoble'], 'did you mean "double"'],
    ['a payload that is no JSON', ['x', '@daily', 'double', '{'], 'JSON'],
    ['an unknown policy', ['x', '@daily', 'double', '--missed', 'some'], '--missed "some"'],
    ['an unknown overlap', ['x', '@daily', 'double', '--overlap', 'skp'], 'did you mean "skip"'],
    ['two days of jitter', ['x', '@daily', 'double', '--jitter', '2d'], 'at most a day'],
    ['a time', ['x', '@daily', 'double', '--at', '2030-01-01T00:00:00Z'], "unknown option '--at'"],
    [
      'a key beside an overlap',
      ['x', '@daily', 'double', '--overlap', 'skip', '--key', 'k'],
      'give no --key',
    ],
    ['an invalid option', ['x', '@daily', 'double', '--timeout', '0s'], '--timeout "0s"'],
  ])('refuses %s in one line, exit 2, and stores nothing', async (_what, args, problem) => {
    const { code, stdout, stderr } = await run('add', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(problem);
    expect(stderr.trimEnd()).not.toContain('\n');
    expect(await stored()).toEqual([]);
  });
});

test('list and show say what there is, when it fires next and what it last did', async () => {
  expect((await run('list')).stderr).toBe('there is no schedule\n');
  await printed('add', 'nightly', '30 2 * * *', 'double', '{"n":1}', '--overlap', 'skip');
  const id = await printed('run', 'nightly');
  await project.client.query("update taskq.schedules set last_tick = '2026-01-01', last_task_id = $1", [id]);
  await printed('add', 'poll', '@every 90s', 'double');
  await printed('pause', 'poll', '--by', 'ann', '--reason', 'moving');
  const [head, first, second] = (await printed()).split('\n');
  expect(head).toMatch(/^NAME +EXPRESSION +TIME ZONE +TYPE +NEXT +LAST +TASK +STATUS$/);
  expect(first).toMatch(
    new RegExp(`^nightly +30 2 \\* \\* \\* +UTC +double +in \\S+ +\\S+ ago +${id} +pending$`),
  );
  expect(second).toMatch(/^poll +@every 1m30s +UTC +double +paused +- +- +-$/);
  const shown = await printed('show', 'poll');
  expect(shown).toMatch(/pause +paused by \S+ \(ann\), (now|\d+s ago), until it is resumed: moving/);
  expect(await printed('show', 'nightly')).toMatch(new RegExp(`last task +${id} \\(pending\\)`));
});

test('a task of another type that replace leaves alone is named by run, show and list', async () => {
  await printed('add', 's', '@daily', 'double', '--overlap', 'replace');
  const id = await printed('run', 's');
  await printed('add', 's', '@daily', 'other', '--overlap', 'replace', '--allow-unknown');
  const error = `task ${id} holds the key "schedule:s" and is not replaced: its type ("double")`;
  expect(await run('run', 's')).toMatchObject({ stdout: `${id}\n`, stderr: expect.stringContaining(error) });
  await project.client.query("update taskq.schedules set next_at = now() - interval '1 h'");
  await project.client.query(
    "select taskq.fire_schedule('s', next_at, next_at + interval '1 day') from taskq.schedules",
  );
  expect(await printed('show', 's')).toContain(error);
  expect(await printed('list')).toContain('not replaced');
});

test('run enqueues its task; where the schedule allows no other, it prints the one that is live', async () => {
  await printed('add', 's', '@daily', 'double', '{"n":2}', '--overlap', 'skip');
  const id = await printed('run', 's');
  expect(await run('run', 's')).toMatchObject({
    code: 0,
    stdout: `${id}\n`,
    stderr: `task ${id} of schedule s is live\n`,
  });
  const { rows } = await project.client.query('select payload, source from taskq.tasks');
  expect(rows).toEqual([{ payload: { n: 2 }, source: 'schedule:s' }]);
});

test('resume goes on from the next tick, remove removes', async () => {
  await printed('add', 's', '@every 1h', 'double');
  await printed('pause', 's');
  await project.client.query(
    "update taskq.schedules set next_at = clock_timestamp() - interval '90 minutes'",
  );
  expect(await printed('resume', 's')).toBe('schedule s is resumed');
  expect(await printed('resume', 's')).toBe('schedule s is not paused');
  const [schedule] = await stored();
  // It keeps its beat.
  expect((schedule!.next_at as Date).getTime() - Date.now()).toBeGreaterThan(29 * 60_000);
  expect((schedule!.next_at as Date).getTime() - Date.now()).toBeLessThan(31 * 60_000);
  expect(await printed('remove', 's')).toBe('schedule s is removed');
  expect(await stored()).toEqual([]);
});

test.each(['show', 'pause', 'resume', 'remove', 'run', 'preview'])(
  '%s of an unknown name names the nearest',
  async (verb) => {
    await printed('add', 'nightly', '@daily', 'double');
    expect(await run(verb, 'nihgtly')).toMatchObject({
      ...{
        code: 1,
        stdout: '',
        stderr: 'taskq: no schedule "nihgtly" (did you mean "nightly"?) — see taskq schedule list\n',
      },
    });
  },
);

describe('taskq schedule preview', () => {
  test('prints the ticks of an expression around a change of the clocks', async () => {
    const args = ['30 2 * * *', '--tz', 'Europe/Berlin', '--from', '2030-03-29T12:00:00Z', '--count', '3'];
    expect((await printed('preview', ...args)).split('\n')).toEqual([
      'Sat 2030-03-30 02:30:00 +01:00',
      'Sun 2030-03-31 03:00:00 +02:00',
      'Mon 2030-04-01 02:30:00 +02:00',
    ]);
  });

  test('prints those of a schedule in its time zone, with when their tasks are due', async () => {
    await printed('add', 'my schedule', '0 12 * * *', 'double', '--tz', 'America/New_York', '--jitter', '1h');
    const text = await printed(
      'preview',
      'my schedule',
      '--from',
      '2030-01-01T00:00:00Z',
      '--count',
      '1',
      '--json',
    );
    const { ticks, ...rest } = JSON.parse(text);
    expect(rest).toEqual({ name: 'my schedule', expression: '0 12 * * *', tz: 'America/New_York' });
    expect(ticks).toMatchObject([
      { tick: '2030-01-01T17:00:00.000Z', local: 'Tue 2030-01-01 12:00:00 -05:00' },
    ]);
    expect(Date.parse(ticks[0].due) - Date.parse(ticks[0].tick)).toBeGreaterThan(0);
  });

  test.each([
    ['an expression', ['* * 30 2 *', '--count', '1'], 'never fires'],
    ['a name in five words', ['1 2 3 4 x'], 'day of the week "x"'],
    ['too few fields', ['*/5 * *'], 'expected 5 or 6 cron fields'],
    ['a count', ['@daily', '--count', '0'], '--count 0'],
    ['a time', ['@daily', '--from', 'tomorrow'], '--from "tomorrow"'],
    ['a zone', ['@daily', '--tz', 'x'], '--tz "x"'],
  ])('refuses %s in one line', async (_what, args, problem) => {
    const { code, stdout, stderr } = await run('preview', ...args);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(problem);
    expect(stderr.trimEnd()).not.toContain('\n');
  });
});

describe('schedules of the configuration', () => {
  async function withFile(schedules: object, ...args: string[]) {
    const path = join(await temporaryDirectory(), 'taskq.config.json');
    await writeFile(path, JSON.stringify({ schedules }));
    return run(...args, '--config', path);
  }
  const nightly = {
    expression: '30 2 * * *',
    type: 'double',
    payload: { n: 1 },
    tags: { a: 'b' },
    timeout: '1m',
  };

  test('sync adds and changes what differs, and removes the others with --prune', async () => {
    await printed('add', 'weekly', '@weekly', 'double');
    await printed('add', 'other', '@daily', 'double');
    const schedules = { nightly, weekly: { expression: '@weekly', type: 'double', missed: 'skip' } };
    const first = await withFile(schedules, 'sync');
    expect(first.stdout.split('\n')).toEqual([
      'nightly: added',
      'weekly: changed',
      'other: not in the configuration; --prune removes it',
      '',
    ]);
    const before = await stored();
    const second = await withFile(schedules, 'sync', '--prune');
    expect(second.stdout.split('\n')).toEqual([
      'nightly: unchanged',
      'weekly: unchanged',
      'other: removed',
      '',
    ]);
    expect(await stored()).toEqual(before.filter(({ name }) => name !== 'other'));
  });

  test.each([
    ['no type', { x: { expression: '@daily' } }, 'type'],
    ['no expression', { x: { type: 'double' } }, 'expression'],
    ['no object', { x: '@daily' }, 'x: "@daily": expected an object with expression and type'],
    ['a misspelt expression', { x: { expresion: '@daily', type: 'double' } }, 'unknown option "expresion"'],
    [
      'an unknown option',
      { x: { expression: '@daily', type: 'double', zone: 'UTC' } },
      'unknown option "zone"',
    ],
    [
      'a time',
      { x: { expression: '@daily', type: 'double', at: '2030-01-01T00:00:00Z' } },
      'takes no option "at"',
    ],
  ])('with %s is refused in one line, which names the schedule', async (_what, schedules, problem) => {
    const { code, stderr } = await withFile(schedules, 'sync');
    expect(code).toBe(2);
    expect(stderr).toMatch(/^taskq: schedules \(file .*\): x: /);
    expect(stderr).toContain(problem);
    expect(stderr.trimEnd()).not.toContain('\n');
    expect(await stored()).toEqual([]);
  });

  test('sync notes a type that nobody knows, and accepts it', async () => {
    await project.client.query("select taskq.add_types(array['double'])");
    const { code, stdout, stderr } = await withFile({ nightly: { ...nightly, type: 'duoble' } }, 'sync');
    expect({ code, stdout, stderr }).toEqual({
      code: 0,
      stdout: 'nightly: added\n',
      stderr:
        'schedule nightly: no handler here and no worker knows the type "duoble" (did you mean "double"?): its tasks wait\n',
    });
  });

  test('sync without any is refused', async () => {
    expect(await run('sync')).toMatchObject({ code: 2, stdout: '' });
  });
});
