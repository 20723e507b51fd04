-- The types that are known, in order, with what their handlers say of them, the live workers that handle them, and
-- how many tasks of each wait: counted where the live table has at most 64 MB, for no index knows it; else null.
create or replace function taskq.list_types(options jsonb default '{}')
returns table (
  name text, max_attempts integer, timeout_ms bigint, backoff jsonb, retention text, first_seen_at timestamptz,
  last_seen_at timestamptz, workers text[], waiting bigint, extra jsonb
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  ts timestamptz := clock_timestamp();
  countable boolean := pg_relation_size('taskq.tasks') <= 67108864;
begin
  perform taskq.refuse_unknown_options('list_types', options, '{}');
  return query
  with counted as materialized (
    select t.type, count(*) as waiting from taskq.tasks t where countable and t.lease_owner is null group by t.type
  )
  select y.name, y.max_attempts, y.timeout_ms, y.backoff::jsonb, y.retention::text, y.first_seen_at, y.last_seen_at,
    array(
      select w.name from taskq.workers w
      where w.stopped_at is null and w.heartbeat_at >= ts - make_interval(secs => w.lease_ms / 1000.0)
        and y.name = any (w.types)
      order by w.id
    ),
    case when countable then coalesce(c.waiting, 0) end, null::jsonb
  from taskq.task_types y
  left join counted c on c.type = y.name
  order by y.name;
end
$$;
