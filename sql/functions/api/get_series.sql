-- Returns what happened to tasks over time, as {from, until, step_ms, points}. points has for each step, the earliest
-- first and also where nothing happened, {at (its beginning), created, revived, completed, cancelled, expired, dead,
-- attempts (by outcome), wait_ms, run_ms}; the last two are {p50, p95} of the attempts that ended, or null if none did.
-- A percentile takes the attempts of a bucket (see taskq.get_sample) as spread evenly between its bounds; among those
-- longer than the last bound it is that bound. There are at most 360 points, the last of which has _until. A step has
-- whole minutes; of more than a day, or where minutes are gone (after 14 days), whole hours; and where hours are gone
-- (after 60 days) whole days of UTC. Reads only taskq.metrics, to which workers add every 15 seconds: a row for each
-- minute, hour or day and each queue and type.
-- Arguments: _since_ms, the length of time; _until, its end (null, or in the future: now); _queue and _type, only
-- these; _queues, only these, as names in which `*` stands for any text.
-- Granted to: reader, operator.
create or replace function taskq.get_series(
  _since_ms bigint, _until timestamptz default null, _queue text default null, _type text default null,
  _queues text[] default null
)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set plan_cache_mode = force_custom_plan
as $$
declare
  ts constant timestamptz := clock_timestamp();
  until_ts constant timestamptz := least(_until, ts);
  patterns constant text[] := taskq.queue_patterns(_queues);
  origin constant timestamptz := timestamptz '2000-01-01 00:00:00+00';
  -- How far back it looks.
  back constant interval := ts - until_ts + interval '1 ms' * _since_ms;
  of_span text;
  step interval;
  from_ts timestamptz;
begin
  if _since_ms is null or _since_ms not between 60000 and 34560000000 then
    raise exception 'get_series: _since_ms %: expected 60000 (a minute) to 34560000000 (400 days)',
      coalesce(_since_ms::text, 'null') using errcode = 'invalid_parameter_value';
  end if;
  select s.span, make_interval(mins => s.minutes) into of_span, step
  from (
    values ('minute', 1), ('minute', 2), ('minute', 5), ('hour', 60), ('hour', 120), ('hour', 240), ('day', 1440),
      ('day', 2880)
  ) as s (span, minutes)
  where _since_ms <= s.minutes * 60000::bigint * 360
    and case s.span
      when 'minute' then _since_ms <= 86400000 and back <= interval '14 days 1 minute'
      when 'hour' then back <= interval '60 days 1 hour'
      else true
    end
  order by s.minutes
  limit 1;
  from_ts := date_bin(step, until_ts - interval '1 microsecond', origin)
    - step * (ceil(_since_ms / (date_part('epoch', step) * 1000)) - 1);
  return (
    with step_sum as (
      select date_bin(step, m.since, origin) as at, sum(m.created) as created, sum(m.revived) as revived,
        sum(m.completed) as completed, sum(m.cancelled) as cancelled, sum(m.expired) as expired, sum(m.dead) as dead,
        sum(m.succeeded) as succeeded, sum(m.failed) as failed, sum(m.snoozed) as snoozed, sum(m.lost) as lost,
        -- A column for each of taskq.metric_bounds(), and one more: several times as fast as adding up arrays.
        array[
          sum(m.waits[1]), sum(m.waits[2]), sum(m.waits[3]), sum(m.waits[4]), sum(m.waits[5]),
          sum(m.waits[6]), sum(m.waits[7]), sum(m.waits[8]), sum(m.waits[9]), sum(m.waits[10]),
          sum(m.waits[11]), sum(m.waits[12]), sum(m.waits[13])
        ]::bigint[] as waits,
        array[
          sum(m.runs[1]), sum(m.runs[2]), sum(m.runs[3]), sum(m.runs[4]), sum(m.runs[5]),
          sum(m.runs[6]), sum(m.runs[7]), sum(m.runs[8]), sum(m.runs[9]), sum(m.runs[10]),
          sum(m.runs[11]), sum(m.runs[12]), sum(m.runs[13])
        ]::bigint[] as runs
      from taskq.metrics m
      where m.span = of_span and m.since >= from_ts and m.since < until_ts
        and (_queue is null or m.queue = _queue) and (_type is null or m.type = _type)
        and (patterns is null or m.queue like any (patterns))
      group by 1
    )
    select jsonb_build_object(
      'from', from_ts, 'until', until_ts, 'step_ms', date_part('epoch', step) * 1000,
      'points', jsonb_agg(jsonb_build_object(
        'at', p.at, 'created', coalesce(s.created, 0), 'revived', coalesce(s.revived, 0),
        'completed', coalesce(s.completed, 0), 'cancelled', coalesce(s.cancelled, 0),
        'expired', coalesce(s.expired, 0), 'dead', coalesce(s.dead, 0),
        'attempts', jsonb_build_object(
          'succeeded', coalesce(s.succeeded, 0), 'failed', coalesce(s.failed, 0),
          'snoozed', coalesce(s.snoozed, 0), 'lost', coalesce(s.lost, 0)
        ),
        'wait_ms', taskq.percentiles_of(s.waits), 'run_ms', taskq.percentiles_of(s.runs)
      ) order by p.at)
    )
    from generate_series(from_ts, until_ts - interval '1 microsecond', step) as p (at)
    left join step_sum s on s.at = p.at
  );
end
$$;
