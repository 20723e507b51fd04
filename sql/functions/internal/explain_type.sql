-- Returns what keeps a type's tasks from starting: `breaker_open`, since when, after how many failures, and the id of
-- the task that is its probe, if one is; until: when the next probe may start. For the columns see taskq.explain.
create or replace function taskq.explain_type(_type text, _ts timestamptz)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select 'breaker_open', case when o.probe_at is null then 'infinity' else greatest(o.probe_at, _ts) end,
    jsonb_build_object('since', o.opened_at, 'failures', o.failures, 'probe', o.probe_id::text)
  from taskq.open_breakers(_ts) as o
  where o.type = _type
$$;
