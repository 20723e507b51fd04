-- Returns the types of the tasks that wait for a slot of the group of this one, which waits too, and get one before it:
-- at most 1000, in no order.
create or replace function taskq.waiting_before(_task taskq.tasks, _ts timestamptz)
returns setof text
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select t.type from taskq.tasks t
  where _task.gate = 'w' and t.queue || '' = _task.queue and t.group_key = _task.group_key and t.gate = 'w'
    and (t.priority, t.id) < (_task.priority, _task.id) and taskq.may_start(t.expires_at, t.started_at, _ts)
  limit 1000
$$;
