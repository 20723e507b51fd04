import { Command } from 'commander';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import type { CommandEntry } from '../../src/cli/run/command.ts';
import { TaskQueue } from '../../src/index.ts';
import { createProject, type Project } from './project.ts';

let project: Project;

beforeAll(async () => {
  project = await createProject();
});
afterAll(() => project.drop());

test('lists what commands and applications did: who, by which program, with which filter, and what was replaced', async () => {
  const id = await project.enqueueDead();
  await project.run(['dead', 'revive', '--type', 'double', '--by', 'ann@desk']);
  await project.run(['queues', 'set', 'mail', '--max-attempts', '7', '--by', 'ann@desk']);
  await project.run(['queues', 'set', 'mail', '--max-attempts', '8', '--by', 'bob']);
  const queue = new TaskQueue({ databaseUrl: project.url });
  onTestFinished(() => queue.close());
  await queue.retry(id, { by: 'app' });
  await queue.list({ type: 'double' }).cancel({ by: 'app', reason: 'over' });
  const { actions, next_after } = await project.json(['audit', '--limit', '4']);
  expect(actions).toMatchObject([
    { verb: 'cancel', by: 'app', via: 'taskq', filter: { type: 'double' }, reason: 'over' },
    { by: 'bob', via: 'taskq queues set', before: { max_attempts: 7 }, settings: { max_attempts: 8 } },
    { verb: 'set', queue: 'mail', before: { max_attempts: null }, settings: { max_attempts: 7 } },
    { verb: 'revive', via: 'taskq dead revive', filter: { type: 'double', by_hand: false }, task_ids: [id] },
  ]);
  expect(await project.json(['audit', '--limit', '4', '--after', next_after])).toMatchObject({
    next_after: null,
  });
  const { stdout } = await project.run(['audit', '--who', 'ann']);
  expect(stdout).toMatch(/^AT +VERB +WHO +VIA +WHAT +CHANGE +REASON\n\d{4}-\d\d-\d\d \S+ +set +ann@desk/);
  const records = [];
  for await (const record of queue.audit({ task: id })) records.push(record);
  expect(records).toMatchObject([
    { verb: 'cancel', taskIds: [id], at: expect.any(Date) },
    { verb: 'revive' },
  ]);
  await project.run(['queues', 'pause', 'bulk', '--for', '2h']);
  expect((await project.run(['audit', '--queue', 'bulk'])).stdout).toMatch(
    / until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d /,
  );
  expect((await project.run(['audit', '--queue', 'none'])).stderr).toBe('no action matches\n');
  expect((await project.run(['audit', '--verb', 'cancle'])).stderr).toBe(
    'no action matches: no "cancle" is recorded (did you mean "cancel"?)\n',
  );
});

test('records why, of each verb that does not show its reason elsewhere', async () => {
  const id = await project.enqueueDead();
  for (const args of [
    ['dead', 'revive', id, '--payload', '{}', '--why', 'fixed'],
    ['retry', id],
    ['edit', id, '--to-priority', 'high', '--why', ' asked for '],
    ['queues', 'set', 'mail', '--max-attempts', '3', '--why', 'slow provider'],
    ['queues', 'pause', 'mail', '--why', 'deploy'],
    ['queues', 'resume', 'mail', '--why', ''],
    ['cancel', id, '--reason', 'over'],
    ['purge', id, '--yes', '--why', 'personal data'],
  ])
    expect(await project.run([...args, '--by', 'ann'])).toMatchObject({ code: 0 });
  const { actions } = await project.json(['audit', '--since', '1h', '--who', 'ann', '--limit', '7']);
  expect(actions.map(({ verb, reason }: Record<string, string>) => [verb, reason])).toEqual([
    ...[
      ['purge', 'personal data'],
      ['cancel', 'over'],
      ['resume', null],
      ['pause', 'deploy'],
      ['set', 'slow provider'],
      ['edit', 'asked for'],
      ['revive', 'fixed'],
    ],
  ]);
  expect(await project.run(['types', 'add', 'x', '--why', 'x'.repeat(1001)])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('--why: expected a text of at most 1000 characters'),
  });
});

test('every command that takes a name for the record takes a reason, too', async () => {
  const flagsOf = async (entries: readonly CommandEntry[]): Promise<(readonly string[])[]> => {
    const flags = entries.map(async ({ load }) => {
      const { subcommands, declare } = await load();
      if (subcommands !== undefined) return flagsOf(subcommands);
      const command = new Command();
      declare?.(command);
      return [command.options.map(({ long }) => long ?? '')];
    });
    return (await Promise.all(flags)).flat();
  };
  const all = await flagsOf(COMMANDS.flatMap(({ entries }) => entries));
  const recorded = all.filter((flags) => flags.includes('--by'));
  expect(recorded.length).toBeGreaterThan(30);
  expect(recorded.filter((flags) => !flags.includes('--why') && !flags.includes('--reason'))).toEqual([]);
});

test.each([
  [['--after', 'x'], '--after "x": expected the next_after of the previous page'],
  [['--since', 'soon'], '--since "soon": expected a time'],
  [['--task', 'x'], 'x'],
])('refuses %j', async (options, message) => {
  const { code, stderr } = await project.run(['audit', ...options]);
  expect(code).toBe(2);
  expect(stderr).toContain(message);
});
