-- An e-mail and a text message to send, and an account with two files to delete; applied after the others. Each kickoff
-- returns a message only if something is wrong, and does nothing for what was kicked off before.
--
--   psql "$DATABASE_URL" -1 -v ON_ERROR_STOP=1 -f examples/supervisors/seed.sql
insert into comms.email_message (to_address, subject, body)
values ('ann@example.org', 'Your account', 'It will be deleted.');
select comms.kickoff_send_email(email_message_id) from comms.email_message;

insert into comms.sms_message (to_number, body) values ('+4915550100', 'Your account will be deleted.');
select comms.kickoff_send_sms(sms_message_id) from comms.sms_message;

with account as (
  insert into accounts.account (email_address, display_name) values ('ann@example.org', 'Ann') returning account_id
), recording as (
  insert into files.file (bucket, object_key) values ('recordings', 'ann/1.wav'), ('recordings', 'ann/2.wav')
  returning file_id
)
insert into accounts.account_file (account_id, file_id) select account_id, file_id from account, recording;
select api.request_account_deletion(account_id) from accounts.account where email_address = 'ann@example.org';
