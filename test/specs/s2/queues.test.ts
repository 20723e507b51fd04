import { beforeAll, expect, test } from 'vitest';
import { failures, useSpecification } from '../use-specification.ts';
import { doneIds } from '../witnesses.ts';

const s2 = useSpecification(import.meta.url);

/** A kickoff function of the application: it notes an attempt and enqueues the channel task for it. */
const KICKOFF = `
  create table app.send_email_attempt (id bigint generated always as identity primary key);
  create function app.kickoff_send_email(_scheduled_at timestamptz default now()) returns bigint
  language sql as $$
    with attempt as (insert into app.send_email_attempt default values returning id)
    select task.id from attempt, taskq.enqueue(
      'email', jsonb_build_object('send_email_attempt_id', attempt.id), jsonb_build_object('at', _scheduled_at)
    ) as task
  $$;
`;

beforeAll(() => s2.admin.client.query(KICKOFF));

test('a function of the database enqueues, with the facts it writes or not at all', async () => {
  await s2.admin.rows('begin');
  await s2.admin.value('select app.kickoff_send_email()');
  await s2.admin.rows('rollback');
  const id = await s2.admin.value<string>("select app.kickoff_send_email(now() + interval '1 hour')");
  expect(await s2.admin.rows('select id::text from taskq.all_tasks')).toEqual([{ id }]);
  await s2.makeDue(id);
  await s2.taskq(['work', '--until-idle']);
  expect(await doneIds(s2.admin)).toEqual([id]);
});

test('the error of every failed attempt stays on record when the task is completed', async () => {
  const id = await s2.admin.value<string>('select app.kickoff_send_email()');
  await s2.admin.rows("insert into app.outages values ('email')");
  const worker = s2.work(['--until-idle']);
  await failures(worker, 1);
  await s2.makeDue(id);
  await failures(worker, 2);
  await s2.admin.rows('delete from app.outages');
  await s2.makeDue(id);
  await worker.exit;
  expect(await s2.task(id)).toMatchObject({ status: 'completed', attempts: 2 });
  const errors = await s2.admin.rows(
    "select attempt, error ->> 'message' as message from taskq.task_errors where task_id = $1 order by attempt",
    id,
  );
  expect(errors).toEqual([
    { attempt: 1, message: 'email has an outage' },
    { attempt: 2, message: 'email has an outage' },
  ]);
});

test('a type whose supervisor retries is always completed: the error stays on record, and no attempt follows', async () => {
  await s2.taskq(['types', 'set', 'email', '--on-failure', 'complete']);
  const id = await s2.admin.value<string>('select app.kickoff_send_email()');
  await s2.admin.rows("insert into app.outages values ('email')");
  const worker = s2.work(['--until-idle']);
  expect(await worker.exit).toMatchObject({ code: 0 });
  const [failed] = worker.logs().filter((line) => line.event === 'task.failed_completed');
  expect(failed).toMatchObject({ task_id: id, attempt: 1, error: { message: 'email has an outage' } });
  expect(await s2.task(id)).toMatchObject({
    status: 'completed',
    attempts: 1,
    error: { message: 'email has an outage' },
  });
});
