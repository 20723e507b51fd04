-- Lists the queues that have a live task, a dead letter in the last sample, a setting or a pause, in order, with their
-- own settings (null: the setting of the task's type or of the database applies), their pause (null: over, or none) and
-- their number of waiting tasks. No index has that number: it counts for options.count_ms milliseconds (500), and
-- `at_least` in extra is true if that was not enough. Also in extra, sources: its settings with their sources, as
-- taskq.get_type returns those of a type. options: name, for this queue alone.
-- Granted to: reader, operator.
create or replace function taskq.list_queues(options jsonb default '{}')
returns table (
  name text, paused_at timestamptz, paused_until timestamptz, paused_by text, pause_reason text, max_attempts integer,
  timeout_ms bigint, expires_ms bigint, backoff jsonb, retention text, errors_retention text, dead_retention text,
  group_limit integer, group_rate text, group_burst integer, group_order text, group_on_dead text, group_by text,
  max_running integer, rate text, burst integer, may_enqueue text[], max_losses integer, on_failure text,
  record_leases boolean, record_events boolean, waiting bigint, extra jsonb
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
  perform taskq.refuse_unknown_options('list_queues', options, '{name,count_ms}');
  select * into tally from taskq.count_waiting(coalesce((options ->> 'count_ms')::double precision, 500));
  return query
  with counted as (
    select c.queue, sum(c.waiting)::bigint as waiting
    from unnest(tally.queues, tally.numbers) as c (queue, waiting)
    group by c.queue
  )
  select known.name,
    case when pause.stands then q.paused_at end, case when pause.stands then q.paused_until end,
    case when pause.stands then q.paused_by end, case when pause.stands then q.pause_reason end,
    q.max_attempts, q.timeout_ms, q.expires_ms, q.backoff::jsonb, q.retention::text, q.errors_retention::text,
    q.dead_retention::text, q.group_limit, q.group_rate, taskq.burst_of(taskq.rate_of(q.group_rate), q.group_burst),
    q.group_order, q.group_on_dead, q.group_by,
    q.max_running, q.rate, l.burst, q.may_enqueue, q.max_losses, q.on_failure, q.record_leases, q.record_events,
    coalesce(c.waiting, 0),
    jsonb_build_object(
      'at_least', not tally.is_all,
      'sources', taskq.sourced_settings(q.registered, q.registered_by, q.operator)
    )
  from (
    select s.name from taskq.queues s
    where options ? 'name' or s.paused_until > ts or (s.paused_at is not null and s.paused_until is null)
      or num_nonnulls(
        s.max_attempts, s.timeout_ms, s.expires_ms, s.backoff, s.retention, s.errors_retention, s.dead_retention,
        s.group_limit, s.group_rate, s.group_order, s.group_on_dead, s.group_by, s.max_running, s.rate,
        s.may_enqueue, s.max_losses, s.on_failure, s.record_leases, s.record_events
      ) > 0
    union
    select found.name from taskq.find_queues() as found (name)
    union
    select s.queue from taskq.sample s where s.dead > 0
  ) as known
  left join taskq.queues q on q.name = known.name
  left join taskq.queue_limits l on l.queue = known.name
  left join counted c on c.queue = known.name
  cross join lateral (
    select q.paused_at is not null and (q.paused_until is null or q.paused_until > ts) as stands
  ) as pause
  where not options ? 'name' or known.name = options ->> 'name'
  order by known.name;
end
$$;
