import { expect, test } from 'vitest';
import { getParents as getPage, type ParentsQuery } from '../../../src/queue/inspect/get-parents.ts';
import { enqueue } from '../rows.ts';
import type { Session } from '../session.ts';
import { useDatabase } from '../session.ts';
import { registerWorker } from '../worker.ts';
import { insertWorkflow } from './steps.ts';

const queue = useDatabase();

const getParents = async (session: Session, id: string) =>
  (await getPage(session, id, { maxBytes: 1e6 })).rows;

const NOTE = { bytes: 300_000, head: '[1,1', reason: 'larger than 262144 bytes' };

test('the parents of a step come with their status and result, in the order of their tasks', async () => {
  const { tasks } = await insertWorkflow(queue.admin, [
    { step: 'z', status: 'completed', result: { rows: 7 } },
    { step: 'b', status: 'dead' },
    { step: 'a', status: 'completed', result_note: NOTE },
    { step: 'd', status: 'completed' },
    { step: 'other', status: 'completed', result: 'not asked for' },
    { step: 'end', after: ['a', 'b', 'd', 'z'], on_death: 'continue' },
  ]);
  expect(await getParents(queue.admin, tasks.end!)).toEqual([
    { step: 'z', status: 'completed', result: { rows: 7 }, result_note: null },
    { step: 'b', status: 'dead', result: null, result_note: null },
    { step: 'a', status: 'completed', result: null, result_note: NOTE },
    { step: 'd', status: 'completed', result: null, result_note: null },
  ]);
});

test('parents come by name, and in pages of about as many bytes as asked for', async () => {
  const names = ['a', 'b', 'c', 'd', 'e'];
  const { tasks } = await insertWorkflow(queue.admin, [
    ...names.map((step) => ({ step, status: 'completed', result: 'x'.repeat(1000) })),
    { step: 'end', after: names },
  ]);
  const page = async (query: ParentsQuery) => {
    const { rows, after } = await getPage(queue.admin, tasks.end!, query);
    return { steps: rows.map(({ step }) => step).join(), after };
  };
  expect(await page({ maxBytes: 1e6 })).toEqual({ steps: 'a,b,c,d,e', after: null });
  expect(await page({ maxBytes: 1e6, steps: ['d', 'b', 'z'] })).toEqual({ steps: 'b,d', after: null });
  expect(await page({ maxBytes: 1e6, steps: [] })).toEqual({ steps: '', after: null });
  expect(await page({ maxBytes: 0 })).toEqual({ steps: 'a', after: tasks.a });
  expect(await page({ maxBytes: 2500, after: tasks.a! })).toEqual({ steps: 'b,c', after: tasks.c });
  expect(await page({ maxBytes: 2500, after: tasks.c! })).toEqual({ steps: 'd,e', after: null });
});

test('options of get_parents that mean nothing are refused', async () => {
  for (const options of [
    { parent: ['a'] },
    { parents: 'a' },
    { parents: [1] },
    { max_bytes: -1 },
    { after_id: 'b' },
  ])
    await expect(
      queue.admin.rows('select * from taskq.get_parents(1, $1)', JSON.stringify(options)),
    ).rejects.toMatchObject({ code: '22023' });
});

test('they are known also once the step has ended', async () => {
  const { tasks } = await insertWorkflow(queue.admin, [
    { step: 'a', status: 'completed', result: 1 },
    { step: 'b', after: ['a'], met: ['a'], status: 'dead' },
  ]);
  expect(await getParents(queue.admin, tasks.b!)).toMatchObject([{ step: 'a', result: 1 }]);
});

test('a parent that lives has the status of its task, also if it was revived, and none if that was deleted', async () => {
  const { tasks } = await insertWorkflow(queue.admin, [
    { step: 'waits', task: { available_at: '2100-01-01' } },
    { step: 'deleted' },
    { step: 'revived', status: 'dead' },
    { step: 'end', after: ['waits', 'deleted', 'revived'], on_death: 'continue' },
  ]);
  await queue.admin.rows('delete from taskq.tasks where id = $1', tasks.deleted);
  await queue.admin.rows('select taskq.revive(array[$1::bigint])', tasks.revived);
  expect((await getParents(queue.admin, tasks.end!)).map(({ status }) => status)).toEqual([
    'pending',
    'gone',
    'pending',
  ]);
});

test('a task that is no step has no parents, nor has one that never was', async () => {
  expect(await getParents(queue.admin, await enqueue(queue.admin))).toEqual([]);
  expect(await getParents(queue.admin, '999999999')).toEqual([]);
});

test('a claim says which step of which workflow a task is, and nothing of any other task', async () => {
  const worker = await registerWorker(queue.admin);
  const plain = await enqueue(queue.admin);
  const { id, tasks } = await insertWorkflow(queue.admin, [
    { step: 'a', options: { traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01' } },
    { step: 'looks', task: { step: null } },
  ]);
  const extras = Object.fromEntries(
    (await worker.claim({ start: 2, ahead: 1 })).map((task) => [task.id, Object(task).extra]),
  );
  expect(extras).toEqual({
    [plain]: null,
    [tasks.a!]: { traceparent: expect.any(String), workflow: { id, step: 'a' } },
    [tasks.looks!]: { workflow: { id } },
  });
});
