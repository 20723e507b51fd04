-- Returns what stops a group, as JSON: [{cause, until, …}], with the causes of taskq.explain; until is null if someone
-- must act. Null: nothing stops it.
create or replace function taskq.stops_of_group(_queue text, _group text, _ts timestamptz)
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select jsonb_agg(jsonb_build_object('cause', c.cause, 'until', nullif(c.until, 'infinity')) || c.about)
  from taskq.group_stops(_queue, _group, _ts) as c
$$;
