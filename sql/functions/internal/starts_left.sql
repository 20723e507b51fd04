-- Returns how many tasks may start now by the rate of a limit: in any time t at most rate * t + burst do, because each
-- start uses up its share of the time to come, at most `burst` shares ahead of the clock.
create or replace function taskq.starts_left(_limit taskq.standing_limit, _ts timestamptz)
returns bigint
language sql immutable parallel safe
as $$
  select floor(
    _limit.burst - greatest(extract(epoch from _limit.used_to - _ts) * 1000000, 0)
      * _limit.rate_starts / _limit.rate_us
  )::bigint
$$;
