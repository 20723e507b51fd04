-- Returns the settings of a type or a queue by name, each as {value, from}, where from is `operator` or `worker` (with
-- its name in worker); a setting that is not set is absent.
create or replace function taskq.sourced_settings(_registered jsonb, _registered_by text, _operator jsonb)
returns jsonb
language sql immutable parallel safe
as $$
  select coalesce(
    jsonb_object_agg(s.name, jsonb_build_object(
      'value', s.value, 'from', case when _operator ? s.name then 'operator' else 'worker' end,
      'worker', case when not _operator ? s.name then _registered_by end
    )),
    '{}'
  )
  from jsonb_each(_registered || _operator) as s (name, value)
$$;
