-- Returns whether one more loss of its worker makes a task of this queue a dead letter (see taskq.rescue).
create or replace function taskq.has_last_chance(_queue text, _losses integer)
returns boolean
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select _losses >= coalesce((select q.max_losses from taskq.queues q where q.name = _queue), 3) - 1
$$;
