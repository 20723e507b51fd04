-- Returns the rows of taskq.task_queue_metrics of this span (`minute` or `day`) that lie within the last _since_ms
-- milliseconds, in part at least, the latest first and _limit at most; only those of a queue or a type that is given.
-- Granted to: reader, operator.
create or replace function taskq.list_metrics(
  _span text, _since_ms bigint, _limit integer, _queue text default null, _type text default null
)
returns table (
  span text, since timestamptz, queue text, type text, tasks_created bigint, tasks_completed bigint,
  tasks_failed bigint, average_latency numeric, worker_heartbeat_delay bigint, error_rates_per_agent numeric
)
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
  from_ts constant timestamptz := clock_timestamp() - make_interval(secs => _since_ms / 1000.0);
begin
  if _span is null or _span not in ('minute', 'day') then
    raise exception 'list_metrics: span "%": expected minute or day', coalesce(_span, 'null')
      using errcode = 'invalid_parameter_value';
  end if;
  return query
  select m.* from taskq.task_queue_metrics m
  where m.span = _span and m.since >= date_trunc(_span, from_ts, 'UTC') and (_queue is null or m.queue = _queue)
    and (_type is null or m.type = _type)
  order by m.since desc, m.queue, m.type
  limit _limit;
end
$$;
