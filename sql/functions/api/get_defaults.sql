-- Returns the settings that apply where a task, its type and its queue have none, by setting: {value, from}, where from
-- is `operator`, `worker` (with its name in worker) or `built in`; value null: not set.
-- Granted to: reader, operator.
create or replace function taskq.get_defaults()
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select jsonb_object_agg(s.name, jsonb_build_object(
    'value', (d.built_in || d.registered || d.operator) -> s.name,
    'from', case when d.operator ? s.name then 'operator' when d.registered ? s.name then 'worker' else 'built in' end,
    'worker', case when not d.operator ? s.name and d.registered ? s.name then d.registered_by end
  ))
  from taskq.defaults d
  cross join unnest(taskq.default_options()) as s (name)
$$;
