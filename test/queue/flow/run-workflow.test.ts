import { beforeEach, describe, expect, test } from 'vitest';
import { knowTypes } from '../../support/know-types.ts';
import { useDatabase } from '../session.ts';
import { registerWorker } from '../worker.ts';
import { edges, runWorkflow, stepRows, stored } from './started.ts';

const queue = useDatabase();
beforeEach(() => knowTypes(queue.admin.client, 'work', 'report'));

const BLOCKED = { task: 'blocked', gate: 'p', never: true };
const READY = { status: 'released', parents_left: 0, task: 'pending', gate: null, never: false };

describe('a workflow', () => {
  test('has its roots in the queue, and its other steps wait for their parents', async () => {
    const { id, steps } = await runWorkflow(queue.admin, [
      { step: 'c', after: ['a', { step: 'b', on_death: 'wait' }], payload: { n: 3 } },
      { step: 'a', queue: 'other', priority: 0, tags: { of: 'x' } },
      { step: 'b', after: ['a'], on_death: 'continue', payload: null },
      { step: 'alone', after: [] },
    ]);
    expect(Object.keys(steps).toSorted()).toEqual(['a', 'alone', 'b', 'c']);
    expect(await stepRows(queue.admin, id)).toEqual([
      { step: 'a', ...READY },
      { step: 'alone', ...READY },
      { step: 'b', status: 'waiting', parents_left: 1, ...BLOCKED },
      { step: 'c', status: 'waiting', parents_left: 2, ...BLOCKED },
    ]);
    expect(await edges(queue.admin, id)).toEqual(['a -> b continue', 'a -> c cancel', 'b -> c wait']);
    const tasks = await queue.admin.rows(
      'select step, queue, priority, payload, tags, workflow_id from taskq.tasks order by step',
    );
    const plain = { queue: 'default', priority: 2, tags: null, workflow_id: id };
    expect(tasks).toEqual([
      { ...plain, step: 'a', queue: 'other', priority: 0, payload: {}, tags: { of: 'x' } },
      { ...plain, step: 'alone', payload: {} },
      { ...plain, step: 'b', payload: null },
      { ...plain, step: 'c', payload: { n: 3 } },
    ]);
    expect(
      await queue.admin.row(
        'select name, state, is_open, live_steps, waiting_steps, deaths, ended_at from taskq.workflows',
      ),
    ).toEqual({
      name: 'flow',
      state: 'running',
      is_open: false,
      live_steps: 4,
      waiting_steps: 2,
      deaths: 0,
      ended_at: null,
    });
  });

  test('gives a worker its roots alone', async () => {
    const { steps } = await runWorkflow(queue.admin, [
      { step: 'a' },
      { step: 'b', after: ['a'] },
      { step: 'grouped', after: ['a'], group: 'g' },
    ]);
    const worker = await registerWorker(await queue.session());
    expect((await worker.claim({ start: 10 })).map((task) => task.id)).toEqual([steps.a]);
  });

  test('is stored with the transaction that starts it, or not at all', async () => {
    const session = await queue.session();
    await session.rows('begin');
    await runWorkflow(session, [{ step: 'a' }, { step: 'b', after: ['a'] }]);
    await session.rows('rollback');
    expect(await stored(queue.admin)).toBe(0);
  });

  test('that is open may begin without a step; its on_step has its turn then', async () => {
    const { id } = await runWorkflow(queue.admin, [], { open: true, on_step: { type: 'report' } });
    expect(
      await queue.admin.row(
        'select state, is_open, step_due, on_step from taskq.workflows where id = $1',
        id,
      ),
    ).toEqual({ state: 'open', is_open: true, step_due: true, on_step: { type: 'report' } });
    expect(await queue.admin.rows('select live, waiting, deaths from taskq.workflow_asks')).toEqual([
      { live: 0, waiting: 0, deaths: 0 },
    ]);
  });

  test('keeps its settings for its end', async () => {
    const given = {
      fail_fast: true,
      max_dead: 3,
      on_failing: { type: 'report' },
      on_end: { type: 'report', queue: 'q' },
    };
    await runWorkflow(queue.admin, [{ step: 'a' }], { ...given, on_step: null });
    expect(
      await queue.admin.row('select fail_fast, max_dead, on_failing, on_end, on_step from taskq.workflows'),
    ).toEqual({ ...given, on_step: null });
  });

  test('has steps with keys of their own', async () => {
    const { steps } = await runWorkflow(queue.admin, [
      { step: 'b', key: 'k1', after: ['a'] },
      { step: 'a', key: 'k2' },
    ]);
    expect(await queue.admin.rows('select id, step, unique_key from taskq.tasks order by step')).toEqual([
      { id: steps.a, step: 'a', unique_key: 'k2' },
      { id: steps.b, step: 'b', unique_key: 'k1' },
    ]);
    expect(await edges(queue.admin, `${await queue.admin.value('select id from taskq.workflows')}`)).toEqual([
      'a -> b cancel',
    ]);
  });
});

/** A chain of this many steps, the last one first. */
function chain(length: number): object[] {
  return Array.from({ length }, (_, nth) => ({
    step: `s${length - nth}`,
    ...(nth === length - 1 ? {} : { after: [`s${length - nth - 1}`] }),
  }));
}

describe('refused, with nothing stored:', () => {
  const step = (name: string, ...after: unknown[]) => ({ step: name, after });
  const REFUSED: [why: string, steps: object[], message: string][] = [
    [
      'a cycle',
      [step('a', 'c'), step('b', 'a'), step('c', 'b')],
      'run_workflow: steps wait for each other: "a" -> "b" -> "c" -> "a"',
    ],
    [
      'a step that waits for itself',
      [step('b'), step('a', 'a')],
      'run_workflow: steps wait for each other: "a" -> "a"',
    ],
    [
      'a cycle behind other steps',
      [step('x'), step('a', 'x', 'b'), step('b', 'a'), step('z', 'b')],
      'run_workflow: steps wait for each other: "a" -> "b" -> "a"',
    ],
    [
      'a long cycle',
      [...chain(12), step('s1', 's12')].slice(0, 11).concat(step('s1', 's12')),
      'run_workflow: steps wait for each other: "s12" -> "s1" -> "s2" -> "s3" -> "s4" -> "s5" -> "s6" -> "s7" -> … -> "s12"',
    ],
    [
      'an unknown parent',
      [step('resize'), step('b', 'resise')],
      'run_workflow: step "b" waits for "resise", which is no step of the workflow (did you mean "resize"?)',
    ],
    [
      'an unknown parent with a name like its own, which is not suggested',
      [step('resize'), step('b1', 'b2')],
      'run_workflow: step "b1" waits for "b2", which is no step of the workflow',
    ],
    ['a step twice', [step('a'), step('b'), step('a')], 'run_workflow: step "a" is given twice'],
    [
      'a parent twice',
      [step('a'), step('b', 'a', { step: 'a', on_death: 'wait' })],
      'run_workflow: step "b" names its parent "a" twice',
    ],
    ['a step without a name', [step('a'), {}], 'run_workflow: step 2 has no name'],
    ['a step of another workflow', [{ step: 'a', workflow: 7 }], 'run_workflow: step 1 names a workflow'],
    ['no step', [], 'run_workflow: the workflow has no steps: add some, or open: true'],
    ['an empty name', [step('')], 'task 1 cannot be enqueued: step "": expected text of 1 to 200 bytes'],
    [
      'a long name',
      [step('ä'.repeat(101))],
      `task 1 cannot be enqueued: step "${'ä'.repeat(101)}": expected text of 1 to 200 bytes`,
    ],
    [
      'a parent that is no name',
      [step('a'), step('b', 3)],
      'step "b" cannot be enqueued: after [3]: expected an array of names of steps (text of 1 to 200 bytes), or of objects such as {"step": "a", "on_death": "wait"}: on_death cancel, continue or wait',
    ],
    [
      'another on_death',
      [step('a'), { ...step('b', 'a'), on_death: 'contine' }],
      'step "b" cannot be enqueued: on_death "contine": expected cancel, continue or wait (did you mean "continue"?)',
    ],
    [
      'an unknown option',
      [{ ...step('a'), aftre: ['b'] }],
      'step "a" cannot be enqueued: unknown option "aftre" (did you mean "after"?)',
    ],
    [
      'an unknown type',
      [{ ...step('a'), type: 'wrok' }],
      'unknown type "wrok" (did you mean "work"?): no worker has registered it',
    ],
    [
      'a step that would replace',
      [{ ...step('a'), key: 'k', on_held: 'replace' }],
      'run_workflow: a step replaces no task that holds its key: expected on_held ignore',
    ],
    [
      'two steps with a key',
      [
        { ...step('a'), key: 'k' },
        { ...step('b'), key: 'k' },
      ],
      'run_workflow: step "b": step "a" holds its key "k"',
    ],
    [
      'an invalid key',
      [{ ...step('a'), key: '' }],
      'step "a" cannot be enqueued: key "": expected text of 1 to 500 bytes',
    ],
  ];
  test.each(REFUSED)('%s', async (_why, steps, message) => {
    const error = await runWorkflow(queue.admin, steps).catch((thrown) => thrown);
    expect(String(error.message).replace(/task \d+ holds/, 'task <id> holds')).toBe(message);
    expect(error).toMatchObject({ code: '22023' });
    expect(await stored(queue.admin)).toBe(0);
  });

  const WORKFLOWS: [why: string, workflow: object, message: string][] = [
    ['no name', { name: null }, 'run_workflow: the workflow has no name'],
    [
      'a long name',
      { name: 'x'.repeat(201) },
      `run_workflow: name "${'x'.repeat(199)}…: expected text of 1 to 200 bytes`,
    ],
    ['an unknown member', { on_finish: {} }, 'run_workflow: unknown option "on_finish"'],
    [
      'a bad limit of deaths',
      { max_dead: -1 },
      'run_workflow: max_dead -1: expected a whole number from 0 to 999999999',
    ],
    [
      'a callback that is none',
      { on_end: 'report' },
      'run_workflow: on_end "report": expected an object such as',
    ],
    [
      'an unknown callback',
      { on_end: { type: 'reprot' } },
      'unknown type "reprot" (did you mean "report"?): no worker has registered it',
    ],
    ['steps that are none', { steps: {} }, 'run_workflow: steps {}: expected an array'],
    [
      'a step that is none',
      { steps: ['a'] },
      'task 1 cannot be enqueued: expected options as an object, not string',
    ],
    [
      'more than 100,000 steps',
      { steps: Array.from({ length: 100_001 }, () => 1) },
      'run_workflow: the workflow has 100001 steps: expected at most 100000',
    ],
  ];
  test.each(WORKFLOWS)('%s', async (_why, workflow, message) => {
    const error = await runWorkflow(queue.admin, [{ step: 'a' }], workflow).catch((thrown) => thrown);
    expect(error.message).toContain(message);
    expect(error).toMatchObject({ code: '22023' });
    expect(await stored(queue.admin)).toBe(0);
  });

  test('what is no object', async () => {
    await expect(queue.admin.rows("select taskq.run_workflow('[]')")).rejects.toMatchObject({
      code: '22023',
    });
    await expect(queue.admin.rows('select taskq.run_workflow(null)')).rejects.toMatchObject({
      code: '22023',
    });
  });

  test('a key that another task holds', async () => {
    const [holder] = await queue.admin.rows<{ id: string }>(
      `select id from taskq.enqueue('work', '{}', '{"key": "k"}')`,
    );
    await expect(
      runWorkflow(queue.admin, [
        { step: 'b', after: ['a'] },
        { step: 'a', key: 'k' },
      ]),
    ).rejects.toThrow(`step "b" waits for "a", which is not added: task ${holder!.id} holds its key`);
    await expect(runWorkflow(queue.admin, [{ step: 'a', key: 'k' }])).rejects.toThrow(
      `run_workflow: step "a": task ${holder!.id} holds its key "k"`,
    );
    expect(await stored(queue.admin)).toBe(1);
  });
});

describe('100,000 steps are checked in time that grows with their number alone:', () => {
  const SHAPES: [shape: string, of: (n: number) => object[]][] = [
    ['a chain, the last one first', chain],
    [
      'a fan, the parent last',
      (n) => [
        ...Array.from({ length: n - 1 }, (_, nth) => ({ step: `c${nth}`, after: ['p'] })),
        { step: 'p' },
      ],
    ],
    [
      'a step that waits for all others, first',
      (n) => [
        { step: 'c', after: Array.from({ length: n - 1 }, (_, nth) => `p${nth}`) },
        ...Array.from({ length: n - 1 }, (_, nth) => ({ step: `p${nth}` })),
      ],
    ],
  ];
  test.each(SHAPES)('%s', async (_shape, of) => {
    const took = async (count: number) => {
      const steps = of(count).map((step) => ({ ...step, type: 'work' }));
      const from = performance.now();
      await queue.admin.rows('begin');
      await queue.admin.rows('select taskq.run_workflow($1)', { name: 'large', steps });
      const ms = performance.now() - from;
      await queue.admin.rows('rollback');
      return ms;
    };
    await took(100);
    const small = await took(2_000);
    expect(await took(20_000)).toBeLessThan(Math.max(small, 100) * 40);
  });
});
