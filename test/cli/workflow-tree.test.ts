import pc from 'picocolors';
import stringWidth from 'string-width';
import { describe, expect, test } from 'vitest';
import { formatWorkflow } from '../../src/cli/present/format-workflow.ts';
import { formatWorkflows } from '../../src/cli/present/format-workflows.ts';
import type { Screen } from '../../src/cli/run/output.ts';
import type { ShownStep, ShownWorkflow } from '../../src/queue/inspect/show-workflow.ts';

const CREATED = '2030-01-01T00:00:00Z';
const NOW = Date.parse('2030-01-01T01:00:00Z');

let tasks = 0;

function step(name: string, after: readonly string[] = [], given: Partial<ShownStep> = {}): ShownStep {
  const { status = 'completed' } = given;
  const waits = status === 'blocked';
  return {
    ...{ step: name, task_id: String(++tasks), type: 'work', queue: 'default', status, waits, attempts: 0 },
    ...{ started_at: null, ended_at: null, due_at: null, reason: null, cancelled_by: null },
    parents: after.map((parent) => ({ step: parent, on_death: 'cancel', is_met: !waits })),
    ...given,
  };
}

const some = (count: number, make: (n: number) => ShownStep) =>
  Array.from({ length: count }, (_, nth) => make(nth + 1));

function workflow(steps: readonly ShownStep[], given: Partial<ShownWorkflow> = {}): ShownWorkflow {
  return {
    ...{ id: '7', name: 'import', state: 'running', is_open: false, steps },
    ...{ live_steps: 0, waiting_steps: 0, deaths: 0, fail_fast: false, max_dead: null },
    ...{ on_end: null, on_failing: null, on_step: null, created_at: CREATED, created_by: 'app' },
    ...{ failing_at: null, ended_at: null, cancel_requested_at: null, cancel_reason: null, drop_on: null },
    ...given,
  };
}

const screen = (given: Partial<Screen> = {}): Screen => ({
  ...{ paint: pc.createColors(false), columns: null, now: NOW, leftOut: () => {} },
  ...given,
});

/** The first column of the tree, with the status. */
function treeOf(steps: readonly ShownStep[]): string[] {
  const lines = formatWorkflow(workflow(steps), screen()).split('\n\n')[1]!.split('\n');
  const at = (title: string) => lines[0]!.indexOf(title);
  return lines
    .slice(1)
    .map((line) =>
      `${line.slice(0, at('TYPE')).replace(/ +\d* *$/, '')} ${line.slice(at('STATUS'), at('FAILED')).trim()}`.trimEnd(),
    );
}

const noteOf = (steps: readonly ShownStep[], name: string) => {
  const lines = formatWorkflow(workflow(steps), screen()).split('\n\n')[1]!.split('\n');
  return lines.find((line) => line.includes(`${name} `))!.slice(lines[0]!.indexOf('NOTE'));
};

describe('the tree', () => {
  test('a step stands below its first parent, and names the others', () => {
    const steps = [
      step('fetch'),
      step('left', ['fetch'], { status: 'running' }),
      step('right', ['fetch']),
      step('join', ['left', 'right']),
      step('alone'),
    ];
    expect(treeOf(steps)).toEqual([
      'fetch completed',
      '├─ left running',
      '│  └─ join completed',
      '└─ right completed',
      'alone completed',
    ]);
    expect(noteOf(steps, 'join')).toBe('also after right');
  });

  test('of 10,000 siblings that are alike, three of each kind are shown', () => {
    const steps = [
      step('fetch'),
      ...some(9000, (n) => step(`part-${n}`, ['fetch'])),
      ...some(997, (n) => step(`late-${n}`, ['fetch'], { status: 'pending' })),
      ...some(3, (n) => step(`bad-${n}`, ['fetch'], { status: 'dead' })),
      step(
        'load',
        Array.from({ length: 9000 }, (_, n) => `part-${n + 1}`),
        { status: 'blocked' },
      ),
    ];
    expect(treeOf(steps)).toEqual([
      'fetch completed',
      // The last step stands below its first parent, so this one is like no other.
      '├─ part-1 completed',
      '│  └─ load blocked',
      ...['part-2', 'part-3', 'part-4'].map((name) => `├─ ${name} completed`),
      '├─ … 8,996 more completed',
      ...['late-1', 'late-2', 'late-3'].map((name) => `├─ ${name} pending`),
      '├─ … 994 more pending',
      ...['bad-1', 'bad-2'].map((name) => `├─ ${name} dead`),
      '└─ bad-3 dead',
    ]);
    expect(noteOf(steps, 'load')).toBe(
      'waits for part-1 (completed), part-2 (completed), part-3 (completed) and 8,997 more',
    );
  });

  test('siblings are alike if what stands below them is', () => {
    const steps = some(20, (n) => step(`a${n}`)).flatMap((a, nth) => [
      a,
      step(`b${nth + 1}`, [a.step], { status: nth === 10 ? 'dead' : 'completed' }),
    ]);
    expect(treeOf(steps)).toEqual([
      'a1 completed',
      '└─ b1 completed',
      'a2 completed',
      '└─ b2 completed',
      'a3 completed',
      '└─ b3 completed',
      '… 16 more, with 16 below them completed',
      'a11 completed',
      '└─ b11 dead',
    ]);
  });

  test('a chain of steps that are alike is shown by its ends', () => {
    const steps = some(10_000, (n) =>
      step(`s${n}`, n === 1 ? [] : [`s${n - 1}`], { status: n > 500 ? 'blocked' : 'completed' }),
    );
    expect(treeOf(steps)).toEqual([
      's1 completed',
      '└─ … 498 more in a row completed',
      '   └─ s500 completed',
      '      └─ s501 blocked',
      '         └─ … 9,498 more in a row blocked',
      '            └─ s10000 blocked',
    ]);
  });

  test('a chain of 20,000 steps that differ is cut off', () => {
    const steps = some(20_000, (n) =>
      step(`s${n}`, n === 1 ? [] : [`s${n - 1}`], { type: n % 2 === 0 ? 'even' : 'odd' }),
    );
    const lines = treeOf(steps);
    expect(lines).toHaveLength(27);
    expect(lines.at(-1)!.trim()).toBe('└─ … 19,974 more below');
  });

  test('at most 2000 lines are shown', () => {
    const lines = treeOf(some(3000, (n) => step(`s${n}`, [], { type: `type-${n}` })));
    expect(lines).toHaveLength(2001);
    expect(lines.at(-1)).toBe('… 1,000 more');
  });
});

describe('the note', () => {
  test.each<[string, Partial<ShownStep>, string]>([
    ['due', { status: 'pending', due_at: CREATED }, 'due'],
    ['later', { status: 'pending', due_at: '2030-01-01T01:05:00Z' }, 'due in 5m'],
    ['dead', { status: 'dead', reason: 'attempts_spent' }, 'attempts_spent'],
    ['cancelled', { status: 'cancelled', cancelled_by: 'fetch' }, 'cancelled with fetch'],
    ['blocked', { status: 'blocked', waits: false }, 'waits for its time, or for a slot of its group'],
    ['gone', { status: 'gone' }, 'its task was deleted'],
    ['delayed', { status: 'blocked', waits: true }, 'a worker releases it next'],
  ])('of a step that is %s', (name, given, note) => {
    expect(noteOf([step(name, [], given)], name)).toBe(note);
  });

  test('names no parent below which the step stands', () => {
    const parents = [{ step: 'a', on_death: 'cancel', is_met: false }] as const;
    const waits = step('waits', [], { status: 'blocked', waits: true, parents });
    const ended = step('ended', [], { status: 'cancelled', cancelled_by: 'a', parents });
    const steps = [step('a', [], { status: 'running' }), waits, ended];
    expect(noteOf(steps, 'waits')).toBe('waits for its parent');
    expect(noteOf(steps, 'ended')).toBe('cancelled with its parent');
  });

  test('of a step that waits names the parents that it waits for, and what they do', () => {
    const steps = [
      step('a', [], { status: 'running' }),
      step('b'),
      step('c', [], { status: 'dead' }),
      step('d'),
      step('end', [], {
        status: 'blocked',
        parents: [
          { step: 'a', on_death: 'cancel', is_met: false },
          { step: 'b', on_death: 'cancel', is_met: true },
          { step: 'd', on_death: 'cancel', is_met: false },
          { step: 'c', on_death: 'wait', is_met: false },
        ],
      }),
    ];
    expect(noteOf(steps, 'end')).toBe('waits for a (running), c (dead), d (completed)');
  });
});

test('the time of an attempt is that of the last one, or until now', () => {
  const steps = [
    step('a', [], { started_at: CREATED, ended_at: '2030-01-01T00:00:07Z' }),
    step('b', [], { started_at: CREATED, status: 'running' }),
    step('c', [], { started_at: CREATED, status: 'pending' }),
  ];
  const lines = formatWorkflow(workflow(steps), screen()).split('\n\n')[1]!.split('\n').slice(1);
  expect(lines.map((line) => line.trim().split(/ {2,}/).at(-1))).toEqual(['7s', '1h', '-']);
});

test('the record says how it goes, and leaves out what does not apply', () => {
  const record = (given: Partial<ShownWorkflow>, steps: readonly ShownStep[] = []) =>
    formatWorkflow(workflow(steps, given), screen())
      .split('\n\n')[0]!
      .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d:\d\d/g, 'TIME')
      .split('\n');
  expect(record({})).toEqual([
    'workflow 7  import  running',
    '  created  TIME (1h ago) by app',
    '  steps    none',
  ]);
  expect(
    record(
      {
        ...{ state: 'cancelled', is_open: true, fail_fast: true, max_dead: 3, cancel_reason: 'wrong\nfile' },
        ...{ ended_at: '2030-01-01T00:30:00Z', failing_at: CREATED, cancel_requested_at: CREATED },
        on_end: { type: 'report', queue: 'mail', payload: { to: 'ann' } },
        ...{ on_step: { type: 'orchestrate' }, drop_on: '2030-01-08' },
      },
      [step('a'), step('b', [], { status: 'dead' }), step('c')],
    ),
  ).toEqual([
    'workflow 7  import  cancelled',
    '  created       TIME (1h ago) by app',
    '  ended         TIME (30m ago), after 30m',
    '  steps         3: 2 completed, 1 dead',
    '  open          steps can be added until taskq workflow close 7',
    '  failing       TIME (1h ago)',
    '  fails         after more than 3 deaths, and cancels what is left',
    '  cancel asked  TIME (1h ago): wrong file',
    '  on end        report in queue mail, with {"to":"ann"}',
    '  on step       orchestrate',
    '  kept          until 2030-01-08, and as long as it has a dead letter',
  ]);
  const stuck = [step('a'), step('b', [], { status: 'dead' }), step('c', ['a', 'b'], { status: 'blocked' })];
  expect(record({ state: 'stuck', max_dead: 0 }, stuck)).toContainEqual(
    `  stuck    what is left waits for b (dead, task ${stuck[1]!.task_id}): taskq workflow retry 7`,
  );
  expect(record({ max_dead: 0 })).toContainEqual('  fails    after the first death');
});

describe('a terminal', () => {
  const wide = '日本語-a-name-that-is-rather-long';
  const steps = [
    step(wide),
    step(`${wide}-2`, [wide], { type: wide, status: 'dead', reason: wide }),
    step('end', [wide, `${wide}-2`], { status: 'blocked' }),
  ];

  test.each([120, 80, 60, 40, 24])('%i columns are enough', (columns) => {
    const lines = formatWorkflow(workflow(steps), screen({ columns })).split('\n');
    expect(Math.max(...lines.map((line) => stringWidth(line)))).toBeLessThanOrEqual(columns);
    const list = formatWorkflows([workflow([], { name: wide.repeat(3) })], screen({ columns })).split('\n');
    expect(Math.max(...list.map((line) => stringWidth(line)))).toBeLessThanOrEqual(columns);
  });

  test('only a terminal gets colour', () => {
    const coloured = formatWorkflow(workflow(steps), screen({ paint: pc.createColors(true), columns: 100 }));
    expect(coloured).toContain('\u001B[31mdead');
    expect(formatWorkflow(workflow(steps), screen())).not.toContain('\u001B');
  });
});
