-- Locks the row of a task that this worker holds, and waits half a second for another transaction that has locked it.
-- For a task whose key some sessions replace without a pause: each takes over the row as the one before it commits, so
-- a lock that skips it finds it free only by chance [8 sessions: not once in 15 s; this way within 0.4 s]. Call it
-- before anything else is locked: a transaction that holds no other lock cannot be part of a deadlock.
create or replace function taskq.wait_for_row(_worker integer, _id bigint)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set lock_timeout = '500ms'
as $$
begin
  perform from taskq.tasks t where t.id = _id and t.lease_owner = _worker for update;
exception when lock_not_available then
  null; -- Someone keeps it locked.
end
$$;
