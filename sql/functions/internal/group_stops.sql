-- Returns what stops a group: `group_paused` (who, why), and `group_held`, with the first dead letter at which it
-- stops, or with the task that snoozed it. For the columns see taskq.explain.
create or replace function taskq.group_stops(_queue text, _key text, _ts timestamptz)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select stop.cause, stop.until, jsonb_build_object('group', _key) || stop.about
  from (
    select 'group_paused' as cause, 'infinity'::timestamptz as until,
      jsonb_build_object('since', g.paused_at, 'by', g.paused_by, 'reason', g.pause_reason) as about
    from taskq.groups g
    where g.queue = _queue and g.key = _key and g.paused_at is not null
    union all
    select 'group_held', 'infinity', jsonb_build_object('dead_task', min(d.id)::text)
    from taskq.holding_dead_tasks() as d where d.queue = _queue and d.key = _key
    having count(*) > 0
    union all
    select 'group_held', t.available_at, jsonb_build_object('snoozed_by', t.id::text)
    from taskq.tasks t
    where t.queue || '' = _queue and t.group_key = _key and t.gate = 's' and t.lease_owner is null
      and t.available_at > _ts
  ) as stop
$$;
