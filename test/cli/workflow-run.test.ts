import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createProject, type Project } from './project.ts';

let project: Project;

beforeAll(async () => {
  project = await createProject();
});
beforeEach(() =>
  project.client.query('truncate taskq.tasks, taskq.workflows, taskq.workflow_asks, taskq.audit cascade'),
);
afterAll(() => project.drop());

const run = (...args: string[]) => project.run(args);

async function printed(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout.trimEnd();
}

const rows = async (text: string, ...values: unknown[]) => (await project.client.query(text, values)).rows;
const edges = () => rows('select parent, child, on_death from taskq.workflow_edges order by child, parent');

const step = (name: string, ...after: unknown[]) => ({
  step: name,
  type: 'double',
  payload: { n: 1 },
  after,
});

describe('taskq workflow run', () => {
  test('starts the workflow of a file, its payloads to the last digit', async () => {
    const text = `{"onEnd": "double", "steps": [
      {"type": "double", "after": ["a", {"step": "b", "onDeath": "wait"}], "step": "c", "priority": "high"},
      {"step": "b", "type": "double", "after": ["a"], "payload": {"n": 12345678901234567890, "s": "],\\"}"}},
      {"step": "a", "type": "double", "payload": null} ], "name": "import"}`;
    await project.write('import.json', text);
    const id = await printed('workflow', 'run', 'import.json');
    expect(await rows('select name, state, on_end from taskq.workflows where id = $1', id)).toEqual([
      { name: 'import', state: 'running', on_end: { type: 'double' } },
    ]);
    expect(await edges()).toEqual([
      { parent: 'a', child: 'b', on_death: 'cancel' },
      { parent: 'a', child: 'c', on_death: 'cancel' },
      { parent: 'b', child: 'c', on_death: 'wait' },
    ]);
    expect(await rows('select step, payload::text, priority, gate from taskq.tasks order by step')).toEqual([
      { step: 'a', payload: 'null', priority: 2, gate: null },
      { step: 'b', payload: '{"n": 12345678901234567890, "s": "],\\"}"}', priority: 2, gate: 'p' },
      { step: 'c', payload: '{}', priority: 1, gate: 'p' },
    ]);
  });

  test('waits for its end, and exits as that is', async () => {
    await project.write('w.json', JSON.stringify({ name: 'w', steps: [step('a'), step('b', 'a')] }));
    const late = await run('workflow', 'run', 'w.json', '--wait=100ms');
    expect(late).toMatchObject({ code: 4, stdout: '' });
    expect(late.stderr).toMatch(
      /^workflow \d+ has started\ntask .* no worker is running\ntaskq: workflow \d+ has not ended in time/,
    );
    const waiting = run('workflow', 'run', 'w.json', '--wait');
    while ((await rows('select from taskq.workflows')).length < 2) await sleep(20);
    await printed('work', '--until-idle', '--quiet');
    expect(await waiting).toMatchObject({ code: 0, stdout: 'completed\n' });
    expect((await run('workflow', 'run', 'w.json', '--wait=soon')).code).toBe(2);
  });

  test('reads it from stdin, and prints the ids of the tasks as JSON', async () => {
    const { code, stdout } = await project.run(['workflow', 'run', '-', '--json'], {
      input: JSON.stringify({ name: 'w', steps: [step('a')] }),
    });
    const [{ id: task, workflow_id: id }] = await rows('select id, workflow_id from taskq.tasks');
    expect({ code, ...JSON.parse(stdout) }).toEqual({ code: 0, id, tasks: { a: task } });
  });

  const REFUSED: [why: string, workflow: unknown, message: string][] = [
    [
      'a cycle',
      { name: 'w', steps: [step('a', 'b'), step('b', 'a')] },
      'steps wait for each other: "a" -> "b" -> "a"',
    ],
    [
      'an unknown parent',
      { name: 'w', steps: [step('a'), step('b', 'A')] },
      'step "b" waits for "A", which is no step of the workflow (did you mean "a"?)',
    ],
    ['a step twice', { name: 'w', steps: [step('a'), step('a')] }, 'step "a" is given twice'],
    ['a step without a name', { name: 'w', steps: [{ type: 'double' }] }, 'step 1: it has no name, "step"'],
    ['a step without a type', { name: 'w', steps: [{ step: 'a' }] }, 'step "a": it has no "type"'],
    ['a step that is none', { name: 'w', steps: [7] }, 'taskq: stdin: step 1: expected an object such as'],
    [
      'an unknown type',
      { name: 'w', steps: [{ step: 'a', type: 'dubble' }] },
      'step "a": unknown type "dubble"',
    ],
    [
      'an unknown callback of a step',
      { name: 'w', steps: [{ ...step('a'), onComplete: 'dubble' }] },
      'step "a": unknown type "dubble"',
    ],
    ['an unknown callback', { name: 'w', open: true, onEnd: 'dubble' }, 'unknown type "dubble"'],
    ['a payload its schema refuses', { name: 'w', steps: [{ step: 'a', type: 'send-email' }] }, 'step "a": '],
    [
      'an unknown option',
      { name: 'w', steps: [{ ...step('a'), aftr: [] }] },
      'step "a": unknown option "aftr" (did you mean "after"?)',
    ],
    ['an unknown member', { name: 'w', stepz: [] }, 'unknown option "stepz"'],
    ['no name', { steps: [step('a')] }, 'taskq: stdin: the workflow has no "name"'],
    ['a name over 200 bytes', { name: 'x'.repeat(201), steps: [step('a')] }, 'expected at most 200 bytes'],
    ['no steps', { name: 'w' }, 'taskq: the workflow has no steps: add some, or open: true'],
    [
      'a parent twice',
      { name: 'w', steps: [step('a'), step('b', 'a', 'a')] },
      'taskq: step "b" names its parent',
    ],
    ['an array', [], 'expected a workflow such as'],
  ];
  test.each(REFUSED)(
    'refuses %s with exit 2 and one line, and stores nothing',
    async (_why, workflow, message) => {
      const { code, stdout, stderr } = await project.run(['workflow', 'run', '-'], {
        input: JSON.stringify(workflow),
      });
      expect({ code, stdout, lines: stderr.trimEnd().split('\n').length }).toEqual({
        code: 2,
        stdout: '',
        lines: 1,
      });
      expect(stderr).toContain(message);
      expect(await rows('select from taskq.workflows')).toHaveLength(0);
    },
  );

  test('refuses a step above 100,000 with exit 2 and one line, and stores nothing', async () => {
    const id = await printed('workflow', 'open', 'grown');
    await rows('update taskq.workflows set total_steps = 99999 where id = $1', id);
    const message = `taskq: workflow ${id} ("grown") would have 100001 steps: expected at most 100000`;
    await project.write('steps.ndjson', '{"n":1}\n{"n":2}\n');
    const file = await run('enqueue', 'double', '--file', 'steps.ndjson', '--workflow', id);
    expect(file).toMatchObject({
      code: 2,
      stdout: '',
      stderr: `${message}; nothing is enqueued — the rest starts at line 1\n`,
    });
    expect(await rows('select from taskq.tasks')).toEqual([]);
    await printed('enqueue', 'double', '{"n":1}', '--workflow', id);
    expect(await run('enqueue', 'double', '{"n":1}', '--workflow', id)).toMatchObject({
      code: 2,
      stderr: `${message}\n`,
    });
  });

  test.each([
    ['no-file.json', 'cannot read no-file.json: no such file'],
    ['handlers', 'cannot read handlers: it is a directory'],
    ['broken.json', 'broken.json: invalid JSON at line 1, column 13'],
  ])('refuses the file %s', async (file, message) => {
    await project.write('broken.json', '{"name": "w"');
    const { code, stderr } = await run('workflow', 'run', file);
    expect(code).toBe(2);
    expect(stderr).toContain(message);
  });
});

describe('taskq workflow open and close', () => {
  test('begin and end the growing of a workflow, to which enqueue adds steps', async () => {
    const id = await printed(
      'workflow',
      'open',
      'grow',
      '--fail-fast',
      '--max-dead',
      '3',
      '--on-step',
      'double',
    );
    expect(await rows('select name, state, fail_fast, max_dead, on_step from taskq.workflows')).toEqual([
      { name: 'grow', state: 'open', fail_fast: true, max_dead: 3, on_step: { type: 'double' } },
    ]);
    await printed('enqueue', 'double', '{"n":1}', '--workflow', id, '--step', 'a');
    await printed('enqueue', 'double', '{"n":1}', '--workflow', id, '--step', 'b');
    const last = await printed(
      ...['enqueue', 'double', '{"n":1}', '--workflow', id, '--after', 'a,b', '--on-death', 'wait'],
    );
    expect(await edges()).toEqual([
      { parent: 'a', child: last, on_death: 'wait' },
      { parent: 'b', child: last, on_death: 'wait' },
    ]);
    await project.write(
      'steps.ndjson',
      '{"payload":{"n":1},"step":"x"}\n{"payload":{"n":2},"after":["x"]}\n',
    );
    await printed('enqueue', 'double', '--file', 'steps.ndjson', '--envelope', '--workflow', id);
    expect(await rows('select from taskq.workflow_steps')).toHaveLength(5);
    expect(await printed('workflow', 'close', id, '--by', 'ann')).toBe(
      `workflow ${id} is closed: it ends with its last step`,
    );
    expect(await printed('workflow', 'close', id)).toBe(`workflow ${id} was closed already`);
    expect(await rows('select verb, by, settings from taskq.audit')).toEqual([
      { verb: 'close workflow', by: 'ann', settings: { workflow: id } },
    ]);
  });

  test.each([
    [['--workflow', '1000000'], 'no workflow 1000000'],
    [['--workflow', 'x'], '--workflow "x": expected the number of a workflow'],
    [['--workflow', '<id>', '--step', 'a'], 'workflow <id> has a step "a" already'],
    [
      ['--workflow', '<id>', '--step', 'b', '--after', 'a,A'],
      'step "b" waits for "A", which is no step of the workflow (did you mean "a"?)',
    ],
    [['--workflow', '<id>', '--after', 'A'], 'step waits for "A", which is no step'],
    [['--workflow', '<id>', '--after', 'a', '--on-death', 'wiat'], '--on-death "wiat": expected cancel'],
    [['--workflow', '<id>', '--on-death', 'wait'], '--on-death needs --after'],
    [['--step', 'a'], '--step needs --workflow — taskq workflow open starts a workflow to add to'],
    [['--after', 'a'], '--after needs --workflow — taskq workflow open starts'],
    [['--workflow', '<id>', '--step', 'x', '--file', '-'], '--step does not work with --file'],
  ])('refuses enqueue %j with exit 2 and one line', async (args, message) => {
    const id = await printed('workflow', 'open', 'grow');
    await printed('enqueue', 'double', '{"n":1}', '--workflow', id, '--step', 'a');
    const payload = args.includes('--file') ? [] : ['{"n":1}'];
    const { code, stdout, stderr } = await run(
      ...['enqueue', 'double', ...payload, ...args.map((arg) => arg.replace('<id>', id))],
    );
    expect({ code, stdout, lines: stderr.trimEnd().split('\n').length }).toEqual({
      code: 2,
      stdout: '',
      lines: 1,
    });
    expect(stderr).toContain(message.replace('<id>', id));
    expect(await rows('select from taskq.tasks')).toHaveLength(1);
  });

  test('refuses a step of a workflow that is closed, with exit 2 and one line', async () => {
    const id = await printed('workflow', 'open', 'grow');
    await printed('workflow', 'close', id);
    const { code, stdout, stderr } = await run('enqueue', 'double', '{"n":1}', '--workflow', id);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toMatch(new RegExp(`^taskq: .*workflow ${id} \\("grow"\\) is closed: .*\n$`));
    expect(await rows('select from taskq.tasks')).toEqual([]);
  });

  test('refuse a workflow that is not there, or no number', async () => {
    const gone = await run('workflow', 'close', '1000000');
    expect(gone).toMatchObject({ code: 1, stdout: '' });
    expect(gone.stderr).toContain('no workflow 1000000');
    expect((await run('workflow', 'close', 'x')).code).toBe(2);
    expect((await run('workflow', 'open', 'w', '--max-dead', '-1')).code).toBe(2);
    expect((await run('workflow', 'open', 'w', '--on-end', 'dubble')).code).toBe(2);
  });
});
