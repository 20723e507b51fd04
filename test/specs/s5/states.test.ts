import { expect, test } from 'vitest';
import { waitUntil } from '../../queue/waiting.ts';
import { failures, useSpecification } from '../use-specification.ts';
import { begun } from '../witnesses.ts';

const s5 = useSpecification(import.meta.url);

const TYPE = 'process_order';
const bankIsOut = () => s5.admin.rows('insert into app.outages values ($1)', TYPE);
const runPoller = () => s5.taskq(['work', '--max-tasks', '1']);

test('with one attempt a failure is an ERROR at once, and an operator has it processed again', async () => {
  const enqueued = await s5.taskq(['enqueue', TYPE, '{"order":1}', '--max-attempts', '1']);
  const id = enqueued.stdout.trim();
  await bankIsOut();
  await runPoller();
  expect(await s5.task(id)).toMatchObject({
    status: 'dead',
    attempts: 1,
    error: { message: 'the bank does not answer' },
  });
  await s5.admin.rows('delete from app.outages');
  expect(await s5.taskq(['dead', 'revive', '--type', TYPE])).toMatchObject({ code: 0 });
  await runPoller();
  expect(await s5.task(id)).toMatchObject({ status: 'completed' });
});

test('what was put aside by hand stays when all others are processed again', async () => {
  const poison = await s5.enqueue(TYPE, { order: 1 });
  const error = await s5.enqueue(TYPE, { order: 2 }, { maxAttempts: 1 });
  expect(await s5.taskq(['dead', 'add', poison.id, '--reason', 'poison'])).toMatchObject({ code: 0 });
  await bankIsOut();
  await runPoller();
  await s5.taskq(['dead', 'revive', '--all']);
  expect(await s5.task(poison.id)).toMatchObject({ status: 'dead', reason: 'poison' });
  expect(await s5.task(error.id)).toMatchObject({ status: 'pending' });
  await s5.taskq(['dead', 'discard', poison.id, '--yes']);
  await expect(s5.task(poison.id)).rejects.toThrow('there is no task');
});

test('the process result is stored, of a failed attempt too; the attempt counts when it has failed', async () => {
  const { id } = await s5.enqueue(TYPE, { order: 1 });
  await bankIsOut();
  const poller = s5.work(['--until-idle']);
  await failures(poller, 1);
  expect(await s5.task(id)).toMatchObject({ status: 'pending', attempts: 1 });
  await s5.admin.rows('delete from app.outages');
  await s5.makeDue(id);
  await poller.exit;
  const shown = JSON.parse((await s5.taskq(['show', id, '--json'])).stdout);
  expect(shown).toMatchObject({ status: 'completed', attempts: 1, result: { order: 1, attempt: 2 } });
  expect(shown.errors).toMatchObject([{ attempt: 1, result: { order: 1, reached: 'bank' } }]);
});

test('a reference number is unique in its queue, forever where that is asked for', async () => {
  const reference = { queue: 'orders', key: 'ref-1', keyFor: 'ever' } as const;
  const first = await s5.enqueue(TYPE, { order: 1 }, reference);
  expect(await s5.enqueue(TYPE, { order: 1 }, reference)).toMatchObject({ id: first.id, created: false });
  const elsewhere = await s5.enqueue(TYPE, { order: 1 }, { queue: 'returns', key: 'ref-1' });
  expect(elsewhere.created).toBe(true);
  await s5.taskq(['work', '--until-idle']);
  expect(await s5.enqueue(TYPE, { order: 1 }, reference)).toMatchObject({ id: first.id, created: false });
  expect(await s5.enqueue(TYPE, { order: 1 }, { queue: 'returns', key: 'ref-1' })).toMatchObject({
    created: true,
  });
});

test('a poller is deployed without being started, and started later', async () => {
  const { id } = await s5.enqueue(TYPE, { order: 1 });
  const poller = s5.work(['--paused']);
  const looked = 'select exists (select from taskq.idle_marks)';
  await waitUntil(() => s5.admin.value(looked), 'the poller has not looked for tasks');
  expect(await s5.task(id)).toMatchObject({ status: 'pending', lease_no: 0 });
  await s5.admin.rows('select taskq.resume_worker(id) from taskq.workers where pid = $1', poller.pid);
  await begun(s5.admin, 1);
});
