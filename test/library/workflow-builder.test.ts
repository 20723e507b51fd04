import { beforeEach, describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  defineHandler,
  InvalidPayloadError,
  type TaskQueue,
  TaskqError,
  UnknownTypeError,
} from '../../src/index.ts';
import { knowTypes } from '../support/know-types.ts';
import { useLibrary } from './use-queue.ts';

const library = useLibrary();
beforeEach(() => knowTypes(library.admin.client, 'work'));

const edges = () =>
  library.admin.rows(
    'select parent, child, on_death from taskq.workflow_edges where not is_met order by child, parent',
  );
const stored = () => library.admin.value<string>('select count(*) from taskq.workflows').then(Number);

describe('queue.workflow', () => {
  test('stores its steps when it is started, and returns their ids', async () => {
    const queue = library.open();
    const workflow = queue
      .workflow('import', {
        failFast: true,
        maxDead: 2,
        onEnd: 'report',
        onFailing: { type: 'report', queue: 'q' },
      })
      .task('fetch', 'work', { shop: 7 }, { priority: 'high', key: 'fetch' })
      .task('parse', 'work', {}, { after: ['fetch'] })
      .task('report', 'report', undefined, {
        after: ['parse', { step: 'fetch', onDeath: 'wait' }],
        onDeath: 'continue',
      });
    expect(await stored()).toBe(0);
    const { id, steps } = await workflow.start();
    expectTypeOf(steps).toEqualTypeOf<Readonly<Record<'fetch' | 'parse' | 'report', string>>>();
    expect(await edges()).toEqual([
      { parent: 'fetch', child: 'parse', on_death: 'cancel' },
      { parent: 'fetch', child: 'report', on_death: 'wait' },
      { parent: 'parse', child: 'report', on_death: 'continue' },
    ]);
    expect(
      await library.admin.row(
        'select id, name, state, fail_fast, max_dead, on_end, on_failing, on_step from taskq.workflows',
      ),
    ).toEqual({
      ...{ id, name: 'import', state: 'running', fail_fast: true, max_dead: 2, on_step: null },
      ...{ on_end: { type: 'report' }, on_failing: { type: 'report', queue: 'q' } },
    });
    expect(await queue.get(steps.parse)).toMatchObject({
      status: 'blocked',
      workflow: { id, step: 'parse' },
      payload: {},
    });
    expect(await queue.get(steps.fetch)).toMatchObject({ priority: 1, payload: { shop: 7 } });
  });

  test('is there with the commit of its client, or not at all', async () => {
    const session = await library.session();
    const queue = library.open();
    const start = () => queue.workflow('w').task('a', 'work').start({ client: session.client });
    await session.rows('begin');
    await start();
    expect(await stored()).toBe(0);
    await session.rows('rollback');
    expect(await stored()).toBe(0);
    await session.rows('begin');
    await start();
    await session.rows('commit');
    expect(await stored()).toBe(1);
  });

  test('checks payloads against the schemas of handlers, and names the step', async () => {
    const checked = defineHandler({ schema: z.object({ to: z.string() }), run: () => 1 });
    const queue = library.open({ handlers: { checked } });
    const workflow = queue.workflow('w').task('a', 'checked', { to: 'ann' });
    // @ts-expect-error: not what the schema takes
    workflow.task('b', 'checked', { to: 1 }, { after: ['a'] });
    const error = await workflow.start().catch((thrown) => thrown);
    expect(error).toBeInstanceOf(InvalidPayloadError);
    expect(error.message).toMatch(/^step "b": /);
    expect(await stored()).toBe(0);
  });

  test('refuses what no workflow can be', async () => {
    const queue = library.open();
    const started = (build: (workflow: ReturnType<typeof queue.workflow>) => { start(): Promise<unknown> }) =>
      build(queue.workflow('w'))
        .start()
        .catch((thrown) => thrown);
    const late: string = 'b';
    const cycle = await started((w) =>
      w.task('a' as string, 'work', {}, { after: [late as never] }).task('b', 'work', {}, { after: ['a'] }),
    );
    expect(cycle).toBeInstanceOf(TaskqError);
    expect(cycle).toMatchObject({
      code: 'refused',
      exitCode: 2,
      message: 'steps wait for each other: "a" -> "b" -> "a"',
    });
    expect(await started((w) => w.task('a', 'work').task('a', 'work'))).toMatchObject({
      message: 'step "a" is given twice',
    });
    expect(await started((w) => w.task('a', 'nowhere'))).toBeInstanceOf(UnknownTypeError);
    expect(await started((w) => w)).toMatchObject({ code: 'refused' });
    expect(() => queue.workflow('')).toThrow('workflow "": expected at least one character');
    expect(() => queue.workflow('w', { maxDead: -1 })).toThrow('maxDead -1: expected a whole number from 0');
    // @ts-expect-error: an unknown option
    expect(() => queue.workflow('w', { onFinish: 'report' })).toThrow('unknown option "onFinish"');
    const odd = { workflow: '7' } as object;
    expect(() => queue.workflow('w').task('a', 'work', {}, odd)).toThrow(
      'step "a": the workflow and the name',
    );
    expect(await stored()).toBe(0);
  });

  test('lets TypeScript find a parent that is no step before it', () => {
    const queue = library.open() as TaskQueue;
    const workflow = queue.workflow('w').task('fetch', 'work');
    workflow.task('parse', 'work', {}, { after: ['fetch', { step: 'fetch', onDeath: 'wait' }] });
    // @ts-expect-error: no such step
    workflow.task('parse', 'work', {}, { after: ['fecth'] });
    // @ts-expect-error: no such step
    workflow.task('parse', 'work', {}, { after: [{ step: 'fecth' }] });
  });
});

describe('an open workflow', () => {
  test('takes steps by enqueue and enqueueMany until it is closed', async () => {
    const queue = library.open();
    const workflow = await queue.workflows.open('grow', { onStep: 'report' });
    await queue.enqueue('work', {}, { workflow, step: 'a' });
    await queue.enqueue('work', {}, { workflow, step: 'b', after: ['a'], onDeath: 'wait' });
    await queue.enqueueMany([
      { type: 'work', workflow, step: 'd', after: ['c'] },
      { type: 'work', workflow, step: 'c', after: [{ step: 'a', onDeath: 'continue' }] },
    ]);
    expect(await edges()).toEqual([
      { parent: 'a', child: 'b', on_death: 'wait' },
      { parent: 'a', child: 'c', on_death: 'continue' },
      { parent: 'c', child: 'd', on_death: 'cancel' },
    ]);
    expect(await queue.workflows.close(workflow, { by: 'ann' })).toBe(true);
    expect(await queue.workflows.close(workflow)).toBe(false);
    expect(await queue.enqueue('work', {}, { workflow }).catch((thrown) => thrown)).toMatchObject({
      code: 'refused',
      message: `workflow ${workflow} ("grow") is closed: steps can be added to one that was started with "open": true, until it is closed`,
    });
    await expect(queue.workflows.close('1000000')).rejects.toMatchObject({ code: 'no_such_workflow' });
    expect(await library.admin.value('select role from taskq.audit')).toBeDefined();
  });

  test.each([
    [{ workflow: 7 }, "workflow of type number: expected the id as text, such as '12'"],
    [{ workflow: 'w' }, 'workflow "w": expected the number of a workflow, such as 12'],
    [{ step: ' a' }, 'step " a": blanks at the beginning or end are not allowed'],
    [{ after: 'a' }, 'after "a": expected an array of names of steps'],
    [{ after: [3] }, 'after 3: expected the name of a step, or { step, onDeath }'],
    [
      { after: [{ step: 'a', on_death: 'wait' }] },
      'after: unknown option "on_death" (did you mean "onDeath"?)',
    ],
    [
      { after: [{ step: 'a', onDeath: 'wiat' }] },
      'after.onDeath "wiat": expected cancel, continue or wait (did you mean "wait"?)',
    ],
    [{ onDeath: 'wait' }, 'onDeath needs after'],
  ])('refuses a step with %j', async (options, message) => {
    const queue = library.open();
    await expect(queue.enqueue('work', {}, options as object)).rejects.toThrow(message);
  });

  test('has no place in a schedule', async () => {
    const queue = library.open();
    const settings = { expression: '@daily', type: 'work', workflow: '7' } as never;
    await expect(queue.schedules.set('s', settings)).rejects.toThrow('a schedule takes no option "workflow"');
  });
});
