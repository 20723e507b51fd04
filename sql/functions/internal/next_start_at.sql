-- Returns when the next task may start by the rate of a limit. Null: now, or there is no rate.
create or replace function taskq.next_start_at(_limit taskq.standing_limit, _ts timestamptz)
returns timestamptz
language sql stable parallel safe
as $$
  select case when _limit.used_to > _ts + _limit.lead then _limit.used_to - _limit.lead end
$$;
