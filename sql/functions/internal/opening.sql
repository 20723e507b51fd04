-- Returns when a queue whose limit stands like this is open again: infinity if all places are taken, so not before a
-- task ends; the time of the next start by its rate; null if it is open now.
create or replace function taskq.opening(_limit taskq.queue_limits, _ts timestamptz)
returns timestamptz
language sql stable parallel safe
as $$
  select case
    when cardinality(_limit.held) >= _limit.max_running then 'infinity'
    when taskq.starts_left(_limit, _ts) < 1
      then _limit.used_to - floor((_limit.burst - 1) * _limit.rate_us / _limit.rate_starts::numeric)::double precision
        * interval '1 microsecond'
  end
$$;
