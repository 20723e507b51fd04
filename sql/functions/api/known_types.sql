-- The types that are known, in order: some worker has registered them, or somebody has added them.
create or replace function taskq.known_types()
returns setof text
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select name from taskq.task_types order by name
$$;
