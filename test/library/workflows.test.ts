import { describe, expect, test } from 'vitest';
import { insertWorkflow } from '../queue/flow/steps.ts';
import { useLibrary } from './use-queue.ts';

const library = useLibrary();

const insert = (...given: [Parameters<typeof insertWorkflow>[1], object?]) =>
  insertWorkflow(library.admin, given[0], { ...given[1] });
const end = (id: string) =>
  library.admin.rows(
    "update taskq.workflows set state = 'failed', ended_at = clock_timestamp() where id = $1",
    id,
  );

describe('show', () => {
  test('has the workflow and its steps, with times as Dates', async () => {
    const { id, tasks } = await insert(
      [
        { step: 'a', status: 'dead' },
        { step: 'b', after: ['a'], on_death: 'wait' },
      ],
      { state: 'stuck', max_dead: 2, drop_on: '2030-01-31', on_end: { type: 'report' } },
    );
    expect(await library.open().workflows.show(id)).toEqual({
      ...{ id, name: 'import', state: 'stuck', isOpen: false, liveSteps: 0, waitingSteps: 0, deaths: 0 },
      ...{ failFast: false, maxDead: 2, onEnd: { type: 'report' }, onFailing: null, onStep: null },
      ...{ createdAt: expect.any(Date), createdBy: expect.any(String), failingAt: null, endedAt: null },
      ...{ cancelRequestedAt: null, cancelReason: null, keptUntil: '2030-01-31' },
      steps: [
        {
          ...{ step: 'a', taskId: tasks.a, type: 'work', queue: 'default', status: 'dead', waits: false },
          ...{ attempts: 0, startedAt: null, endedAt: expect.any(Date), dueAt: null, reason: 'hopeless' },
          ...{ cancelledBy: null, parents: [] },
        },
        {
          ...{ step: 'b', taskId: tasks.b, type: 'work', queue: 'default', status: 'blocked', waits: true },
          ...{ attempts: 0, startedAt: null, endedAt: null, dueAt: null, reason: null, cancelledBy: null },
          parents: [{ step: 'a', onDeath: 'wait', isMet: false }],
        },
      ],
    });
  });

  test('there is no such workflow', async () => {
    expect(await library.open().workflows.show('999999999')).toBeUndefined();
  });

  test('refuses what is no id', async () => {
    await expect(library.open().workflows.show('import')).rejects.toMatchObject({
      message: 'id "import": expected the number of a workflow, such as 12',
    });
  });
});

describe('list', () => {
  const ids = async (filter?: { readonly state?: never }) => {
    const found: string[] = [];
    for await (const { id } of library.open().workflows.list(filter)) found.push(id);
    return found;
  };

  test('yields every workflow, newest first, a page at a time', async () => {
    await library.admin.rows("insert into taskq.workflows (name) select 'w' from generate_series(1, 250)");
    const all = await ids();
    expect(all).toHaveLength(250);
    expect(all).toEqual(all.toSorted((a, b) => Number(b) - Number(a)));
    await library.admin.rows("update taskq.workflows set state = 'stuck' where id = $1", all[240]);
    expect(await ids({ state: 'stuck' as never })).toEqual([all[240]]);
    await expect(ids({ state: 'stuk' as never })).rejects.toMatchObject({ code: 'bad_option' });
  });
});

describe('cancel and retry', () => {
  test('say what became of the workflow and of its steps', async () => {
    const { workflows } = library.open();
    const { id } = (await library.admin.row<{ id: string }>('select id from taskq.run_workflow($1)', {
      name: 'import',
      steps: [
        { step: 'a', type: 'work' },
        { step: 'b', type: 'work', after: ['a'] },
      ],
    }))!;
    expect(await workflows.cancel(id, { reason: 'no need', by: 'ann' })).toEqual({
      answer: 'cancelled',
      state: null,
    });
    expect(await workflows.cancel(id)).toEqual({ answer: 'not_live', state: 'cancelled' });
    for (const verb of ['close', 'cancel', 'retry', 'wait'] as const)
      await expect(workflows[verb]('999999999')).rejects.toMatchObject({ code: 'no_such_workflow' });
    expect(await workflows.show('999999999')).toBeUndefined();
    const answer = { answer: 'retried', key: null, holder: null, error: null, taskId: expect.any(String) };
    expect(await workflows.retry(id, { by: 'ann' })).toEqual([
      { step: 'a', ...answer },
      { step: 'b', ...answer },
    ]);
    expect(await workflows.retry(id)).toEqual([]);
    expect(await workflows.show(id)).toMatchObject({ state: 'running', endedAt: null, cancelReason: null });
  });
});

describe('wait', () => {
  test('returns how the workflow has ended', async () => {
    const { id } = await insert([{ step: 'a', status: 'dead' }]);
    const queue = library.open();
    const ended = queue.workflows.wait(id);
    await library.admin.rows('select pg_sleep(0.2)');
    await end(id);
    const expected = { id, name: 'import', state: 'failed', steps: { dead: 1 } };
    expect(await ended).toEqual(expected);
    expect(await queue.workflows.wait(id)).toEqual(expected);
  });

  test('throws when the time is over, where there is no such workflow, and when it is aborted or closed', async () => {
    const { id } = await insert([{ step: 'a' }]);
    const queue = library.open();
    await expect(queue.workflows.wait(id, { timeout: '50ms' })).rejects.toMatchObject({
      ...{ code: 'wait_deadline', message: `workflow ${id} has not ended in time and continues` },
    });
    await expect(queue.workflows.wait('999999999')).rejects.toMatchObject({ code: 'no_such_workflow' });
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(queue.workflows.wait(id, { signal })).rejects.toThrow('enough');
    const waits = queue.workflows.wait(id);
    const rejected = expect(waits).rejects.toMatchObject({ code: 'closed' });
    await queue.close();
    await rejected;
  });
});
