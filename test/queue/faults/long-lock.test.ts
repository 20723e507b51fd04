import { expect, test } from 'vitest';
import { enqueue, enqueueSome, finishedRow, lapse, rescueAll } from '../rows.ts';
import { useDatabase } from '../session.ts';
import { type Claimed, outcome, registerWorker } from '../worker.ts';

const queue = useDatabase();

test('an application that holds one running task locked delays that one alone, and it is recorded once', async () => {
  const ids = await enqueueSome(queue.admin, 60);
  const application = await queue.session();
  const worker = await registerWorker(await queue.session());
  // Nothing below may wait for the application: the statement would end here.
  await worker.session.rows("set statement_timeout = '20s'");
  const tasks = await worker.claim({ start: 60 });
  await lapse(queue.admin, ids, -1000);
  const held = tasks[30]!;
  await application.rows('begin');
  await application.rows('update taskq.tasks set tags = \'{"edited": "yes"}\' where id = $1', held.id);

  const expectAnswers = <Answered extends { id: string; answer: string }>(
    answers: readonly Answered[],
    elsewhere: string,
  ) => {
    for (const { id, answer } of answers) expect(answer).toBe(id === held.id ? 'busy' : elsewhere);
  };
  const with30 = (from: readonly Claimed[]) => [held, ...from];

  expectAnswers(await worker.heartbeat(with30(tasks.slice(0, 30))), 'renewed');
  expectAnswers(
    await worker.settle(...with30(tasks.slice(0, 10)).map((task) => outcome(task, 'completed'))),
    'recorded',
  );
  expectAnswers(
    await worker.settle(
      ...with30(tasks.slice(10, 20)).map((task) => outcome(task, 'failed', { delay_ms: 3_600_000 })),
    ),
    'recorded',
  );
  expectAnswers(await worker.giveBack(with30(tasks.slice(20, 25))), 'recorded');
  expect(await worker.claim({ start: 60 })).toHaveLength(5);
  await lapse(
    queue.admin,
    tasks.slice(31, 60).map((task) => task.id),
  );
  const rescued = await rescueAll(worker.session, worker.id, []);
  expect(rescued.map((task) => task.id)).toEqual(tasks.slice(31).map((task) => task.id));
  expect(await enqueue(worker.session)).toBeDefined();

  await application.rows('commit');
  expect(await worker.settle(outcome(held, 'completed', { result: 1 }))).toMatchObject([
    { answer: 'recorded' },
  ]);
  expect(await worker.settle(outcome(held, 'completed', { result: 2 }))).toMatchObject([
    { answer: 'already' },
  ]);
  expect(await finishedRow(queue.admin, held.id)).toMatchObject({
    result: 1,
    tags: { edited: 'yes' },
    lease_no: held.lease_no,
  });
  const twice = 'select id from taskq.all_tasks group by id having count(*) > 1';
  expect(await queue.admin.rows(twice)).toEqual([]);
});

test('a running task that is rescued while an application edits it keeps the edit', async () => {
  const id = await enqueue(queue.admin);
  const worker = await registerWorker(queue.admin);
  await worker.claim();
  await lapse(queue.admin, [id]);
  const application = await queue.session();
  await application.rows('begin');
  await application.rows('update taskq.tasks set payload = \'"edited"\' where id = $1', id);
  expect(await rescueAll(queue.admin, worker.id)).toEqual([]);
  await application.rows('commit');
  expect(await rescueAll(queue.admin, worker.id)).toMatchObject([{ id }]);
  expect(await worker.claim()).toMatchObject([{ id, payload: 'edited', losses: 1 }]);
});
