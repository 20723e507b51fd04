-- Lists the known types, in order, with their settings, the live workers that handle them, and their number of waiting
-- tasks. No index has that number: it counts for options.count_ms milliseconds (500), and `at_least` in extra is true
-- if that was not enough; queue, priority, expires_ms, on_complete and on_dead in extra apply to tasks without their
-- own. extra also has keep_log (which attempts keep their log; null: failed), on_failure (null: that of the queue), the
-- breaker and, if it is open, since when, from when on a task may be its probe (null: none may), or which one is; and
-- sources, its settings with their sources, as taskq.get_type returns them.
-- Granted to: reader, operator.
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
  tally record;
begin
  perform taskq.refuse_unknown_options('list_types', options, '{count_ms}');
  select * into tally from taskq.count_waiting(coalesce((options ->> 'count_ms')::double precision, 500));
  return query
  with counted as (
    select c.type, sum(c.waiting)::bigint as waiting
    from unnest(tally.types, tally.numbers) as c (type, waiting)
    group by c.type
  )
  select y.name, y.max_attempts, y.timeout_ms, y.backoff::jsonb, y.retention::text, y.first_seen_at, y.last_seen_at,
    array(
      select w.name from taskq.workers w
      where w.stopped_at is null and w.heartbeat_at >= ts - make_interval(secs => w.lease_ms / 1000.0)
        and y.name = any (w.types)
      order by w.started_at, w.id
    ),
    coalesce(c.waiting, 0), jsonb_build_object(
      'at_least', not tally.is_all, 'queue', y.queue, 'priority', y.priority, 'expires_ms', y.expires_ms,
      'breaker', y.breaker, 'breaker_opened_at', o.opened_at, 'breaker_probe_at', nullif(o.probe_at, 'infinity'),
      'breaker_probe_id', o.probe_id::text, 'keep_log', y.keep_log, 'on_failure', y.on_failure,
      'on_complete', y.on_complete, 'on_dead', y.on_dead,
      'sources', taskq.sourced_settings(y.registered, y.registered_by, y.operator)
    )
  from taskq.task_types y
  left join counted c on c.type = y.name
  left join taskq.open_breakers(ts) as o on o.type = y.name
  order by y.name;
end
$$;
