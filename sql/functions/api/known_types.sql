-- Returns the known types, in order: those that a worker has registered or someone has added.
-- Granted to: producer, reader, operator.
create or replace function taskq.known_types()
returns setof text
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select name from taskq.task_types order by name
$$;
