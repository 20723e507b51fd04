-- Returns why no live worker can take a task, as taskq.worker_obstacles has it, with the id of the worker if it is one.
-- For the columns see taskq.explain.
create or replace function taskq.explain_workers(_queue text, _type text, _ts timestamptz)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select o.reason, 'infinity'::timestamptz, jsonb_build_object('worker', o.worker)
  from taskq.worker_obstacles(array[_queue], array[_type], _ts) as o
$$;
