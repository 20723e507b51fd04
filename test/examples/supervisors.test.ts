import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../support/spawn-taskq.ts';
import { useWorkers } from '../worker/support/workers.ts';
import { applySupervisors, HURRY, readSupervisor } from './apply.ts';
import { type Providers, startProviders } from './providers.ts';

/* The supervisors of examples/supervisors from kickoff to the end, with a worker that has the role of S2. */

const queue = useWorkers('file');
let providers: Providers;
let role: string;

beforeAll(async () => {
  providers = await startProviders();
  expect(await queue.run('migrate', '--with', 'queues')).toMatchObject({ code: 0 });
  const client = await queue.session();
  await applySupervisors(client);
  role = `worker_${await queue.value<string>('select current_database()')}`;
  await queue.rows(`create role ${role} login in role worker_service_user`);
  expect(await queue.run('grants', '--worker', role, '--apply')).toMatchObject({ code: 0 });
  queue.work(['--types', 'db_function,email,sms,file_delete', '--queues', 'queues'], {
    url: queue.url.replace(/\/\/[^@/]*@/, `//${role}@`),
    handlers: join(REPOSITORY, 'handlers'),
    env: { ...providers.env, TASKQ_DIRECT_URL: queue.url },
  });
});
afterAll(async () => {
  providers.close();
  await queue.rows(`drop owned by ${role} cascade`);
  await queue.rows(`drop role ${role}`);
});

/** Waits until a statement returns this, while nothing waits for its time. */
const becomes = (value: unknown, text: string, ...values: unknown[]) =>
  expect
    .poll(
      async () => {
        await queue.rows(HURRY);
        return queue.value(text, ...values);
      },
      { interval: 100 },
    )
    .toEqual(value);

/** Makes an account with these files, asks for its deletion, and returns its id. */
async function deleteAccount(email: string, files: readonly string[]): Promise<string> {
  const id = await queue.value<string>(
    `with account as (
       insert into accounts.account (email_address) values ($1) returning account_id
     ), file as (
       insert into files.file (bucket, object_key) select 'recordings', unnest($2::text[]) returning file_id
     ), account_file as (
       insert into accounts.account_file select account_id, file_id from account, file
     )
     select account_id from account`,
    email,
    files,
  );
  expect(await queue.value('select api.request_account_deletion($1)', id)).toBeNull();
  return id;
}

const DELETION = `
  select jsonb_build_object(
    'succeeded', (select count(*) from accounts.account_deletion_task_succeeded s where s.account_deletion_task_id = t.account_deletion_task_id),
    'failed', (select to_jsonb(array_agg(error_message)) from accounts.account_deletion_task_failed f where f.account_deletion_task_id = t.account_deletion_task_id),
    'flags', (select jsonb_agg(flag order by flag) from accounts.account_flag f where f.account_id = t.account_id)
  )
  from accounts.account_deletion_task t where t.account_id = $1`;

test('what the seed kicks off is sent and deleted, once each, while more supervisors run beside', async () => {
  const client = await queue.session();
  await client.query((await readSupervisor('seed')).replaceAll('ann/', 'fails-1-ann/'));
  await queue.rows(
    `select queues.enqueue('db_function', jsonb_build_object(
       'task_type', 'db_function', 'db_function', 'comms.send_email_supervisor', 'send_email_task_id', send_email_task_id
     )) from comms.send_email_task, generate_series(1, 5)`,
  );
  const id = await queue.value(
    "select account_id from accounts.account where email_address = 'ann@example.org'",
  );
  await becomes({ succeeded: 1, failed: null, flags: ['anonymized', 'deleted'] }, DELETION, id);
  await becomes(0, 'select count(*)::integer from taskq.tasks');
  expect(providers.done).toEqual({
    mails: ['ann@example.org'],
    messages: ['+4915550100'],
    deletions: expect.arrayContaining(['fails-1-ann/1.wav', 'fails-1-ann/2.wav']),
  });
  expect(providers.done.deletions).toHaveLength(2);
  const [facts] = await queue.rows(
    `select
       (select count(*)::integer from comms.send_email_attempt) as emails,
       (select count(*)::integer from comms.send_email_attempt_succeeded) as sent,
       (select count(*)::integer from comms.send_sms_attempt_succeeded) as messages,
       (select array_agg(error_message) from files.file_deletion_task_failed) as refused,
       (select count(*)::integer from files.file_deletion_task_succeeded) as deletions,
       (select count(*)::integer from files.file_metadata where metadata @> '{"deleted": true}') as deleted,
       (select email_address from accounts.account where account_id = $1) as address`,
    id,
  );
  expect(facts).toEqual({
    ...{ emails: 1, sent: 1, messages: 1, deletions: 2, deleted: 2, address: null },
    refused: Array(2).fill(expect.stringMatching(/answered 423/)),
  });
});

test('a file that the storage does not let go ends the deletion of the account, with a message', async () => {
  const id = await deleteAccount('bob@example.org', ['bob/1.wav', 'fails-9-bob/2.wav']);
  const file = await queue.value("select file_id from files.file where object_key = 'fails-9-bob/2.wav'");
  await becomes(
    { succeeded: 0, failed: [`deletion of file ${file} is stuck`], flags: ['deleted'] },
    DELETION,
    id,
  );
  expect(await queue.value('select files.is_file_deletion_stuck($1)', file)).toBe(true);
  await becomes(0, 'select count(*)::integer from taskq.tasks');
});

test('an anonymization that fails ends the deletion of the account, with a message', async () => {
  await queue.rows(`create or replace function accounts.anonymize_account(_account_id bigint) returns void
    language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
    begin raise exception 'account % stays', _account_id; end $$`);
  const id = await deleteAccount('cleo@example.org', ['cleo/1.wav']);
  await becomes(
    { succeeded: 0, failed: ['account anonymization is stuck'], flags: ['deleted'] },
    DELETION,
    id,
  );
  expect(
    await queue.rows(
      `select f.error_message from accounts.account_anonymization_task_failed f
       join accounts.account_anonymization_attempt a using (account_anonymization_attempt_id)
       join accounts.account_anonymization_task t using (account_anonymization_task_id) where t.account_id = $1`,
      id,
    ),
  ).toEqual(Array(5).fill({ error_message: `account ${id} stays` }));
  await becomes(0, 'select count(*)::integer from taskq.tasks');
});

test('a supervisor whose root row stays locked goes on once it is free', async () => {
  await queue.rows("alter function comms.send_email_supervisor set lock_timeout = '10ms'");
  const message = await queue.value(
    "insert into comms.email_message (to_address, subject, body) values ('dan@example.org', '', '') returning email_message_id",
  );
  await queue.rows("select comms.kickoff_send_email($1, now() + interval '1 hour')", message);
  const holder = await queue.session();
  await holder.query('begin');
  await holder.query('select from comms.send_email_task where email_message_id = $1 for update', [message]);
  await becomes(
    true,
    "select exists (select from taskq.task_errors where outcome = 'failed' and error ->> 'code' = '55P03')",
  );
  await holder.query('commit');
  await becomes(0, 'select count(*)::integer from taskq.tasks');
  expect(providers.done.mails.filter((to) => to === 'dan@example.org')).toHaveLength(1);
});
