-- Returns whether a task waits: for its time, a slot or its parents. False for a task that a worker has, and for one
-- that was blocked by hand. Inlined into the calling statement.
create or replace function taskq.is_waiting(_lease_owner integer, _status taskq.task_status, _gate "char")
returns boolean
language sql immutable parallel safe
as $$
  select _lease_owner is null and (_status = 'pending' or _gate in ('w', 'd', 'p'))
$$;
