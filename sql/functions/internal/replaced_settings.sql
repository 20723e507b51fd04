-- Returns what an operator had set of the settings that _settings replaces, for taskq.audit; null in it: nothing.
create or replace function taskq.replaced_settings(_operator jsonb, _settings jsonb)
returns jsonb
language sql immutable parallel safe
as $$
  select jsonb_object_agg(s.name, coalesce(_operator -> s.name, 'null')) from jsonb_object_keys(_settings) as s (name)
$$;
