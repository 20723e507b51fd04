-- Makes workers recompute the next tick of schedules that a clock that was ahead by a minute or more would keep silent:
-- where the last tick is in the future, but not if the clock went back by less than the time between two ticks, because
-- the last one would fire twice; and, right after that was seen (_clock_was: the latest time known from before), where
-- the next tick may have been computed by that clock. Skips those that other transactions have locked.
create or replace function taskq.rewind_schedules(_ts timestamptz, _clock_was timestamptz default null)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  update taskq.schedules s
  set last_tick = case when s.last_tick <= _ts then s.last_tick end, next_at = null
  where s.name in (
    select l.name from taskq.schedules l
    where case
        when l.last_tick > _ts + interval '1 minute' then case
          when isfinite(l.last_tick) and isfinite(l.next_at) then l.next_at - l.last_tick < l.last_tick - _ts
          else true
        end
        -- One that is due sooner is left alone: it must not be computed anew when its time has just passed.
        else _clock_was > _ts + interval '1 minute' and l.next_at > _ts + interval '1 minute' and l.next_at < 'infinity'
      end
    for no key update skip locked
  )
$$;
