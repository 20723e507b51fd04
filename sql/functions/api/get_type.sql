-- Returns the settings that apply to tasks of a type without their own, by the names of taskq.set_type: {value,
-- from}, where from is `operator` or `worker` (with its name in worker); a setting that is not set is absent. Null:
-- the type is unknown.
-- Granted to: producer, reader, operator.
create or replace function taskq.get_type(_type text)
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select taskq.sourced_settings(y.registered, y.registered_by, y.operator)
  from taskq.task_types y
  where y.name = _type
$$;
