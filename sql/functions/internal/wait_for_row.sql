-- Locks the row of a task that this worker holds, and waits half a second for another transaction that has locked it,
-- then as long for that of its step. For a task whose key some sessions replace without a pause: each takes over the
-- row as the one before it commits, so a lock that skips it finds it free only by chance [8 sessions: not once in 15 s;
-- this way within 0.4 s]. Call it before anything else is locked: a transaction that holds no other lock cannot be part
-- of a deadlock, and a session that has a step locked and wants its task waits no longer than that. _id is the value of
-- the option wait_for (null: there is none to wait for), and _of names the call that has it.
create or replace function taskq.wait_for_row(_of text, _worker integer, _id jsonb)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '500ms'
as $$
declare
  task record;
begin
  if not (
    taskq.is_whole(_id, -9223372036854775808, 9223372036854775807)
    or (jsonb_typeof(_id) = 'string' and _id #>> '{}' ~ '^-?[0-9]{1,18}$')
  ) then
    perform taskq.refuse_option(_of, 'wait_for', _id);
  end if;
  select t.id, t.workflow_id, t.step into task
  from taskq.tasks t where t.id = (_id #>> '{}')::bigint and t.lease_owner = _worker for update;
  if task.step is not null then
    perform from taskq.workflow_steps s
    where s.workflow_id = task.workflow_id and s.step = task.step and s.task_id = task.id
    for no key update;
  end if;
exception when lock_not_available then
  null; -- Someone keeps it locked.
end
$$;
