-- Makes workers recompute the next tick of schedules whose last tick is in the future: the server's clock was ahead
-- when it fired, by a minute or more, and otherwise they would be silent until then. Not if the clock went back by less
-- than the time between two ticks: the last one would fire twice. Skips those that other transactions have locked.
create or replace function taskq.rewind_schedules(_ts timestamptz)
returns void
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  update taskq.schedules
  set last_tick = null, next_at = null
  where name in (
    select s.name from taskq.schedules s
    where s.last_tick > _ts + interval '1 minute'
      and case
        when isfinite(s.last_tick) and isfinite(s.next_at) then s.next_at - s.last_tick < s.last_tick - _ts
        else true
      end
    for no key update skip locked
  )
$$;
