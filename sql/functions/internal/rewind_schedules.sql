-- Makes workers recompute the next tick of schedules that a clock that was ahead would keep silent. A schedule whose
-- last tick is in the future: if that is a minute or more ahead, and the clock went back by more than the time between
-- two ticks, because otherwise the last one would fire twice. Any other one: if it is an @every schedule that waits for
-- longer than its period, or, right after a step (_stepped), another one that waits for a minute or more, whose tick is
-- then the same or an earlier one. Skips those that other transactions have locked.
create or replace function taskq.rewind_schedules(_ts timestamptz, _stepped boolean default false)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  update taskq.schedules s
  set last_tick = case when s.last_tick <= _ts then s.last_tick end, next_at = null
  where s.name in (
    select l.name from taskq.schedules l
    cross join lateral (
      select make_interval(secs => nullif(taskq.every_ms(l.expression), 0) / 1000.0) as period offset 0
    ) as every
    where case
        when l.last_tick > _ts + interval '1 minute' then case
          when isfinite(l.last_tick) and isfinite(l.next_at) then l.next_at - l.last_tick < l.last_tick - _ts
          else true
        end
        when l.last_tick > _ts or not isfinite(l.next_at) then false
        else l.next_at > _ts + coalesce(every.period, case when _stepped then interval '1 minute' end)
      end
    for no key update of l skip locked
  )
$$;
