-- Returns how many slots of a group its rate allows now (slots), the time in microseconds that one uses up (each_us),
-- its burst, and the time up to which the rate is used up (used_to): never before now, and never further ahead than
-- possible (is_reset): the rate may have been different, or the clock set back. No row: the group has no rate. For
-- _rate and _burst see taskq.group_slots.
--
-- Inlined into the calling statement, which is why it names its schema and has no `set` clause; `offset 0` lets that
-- read nothing where there is no rate.
create or replace function taskq.group_rate_left(
  _queue text, _key text, _rate text, _burst integer, _ts timestamptz
)
returns table (slots integer, each_us numeric, burst integer, used_to timestamptz, is_reset boolean)
language sql stable
as $$
  -- Not negative: used_to may be a microsecond further ahead than the burst.
  select greatest(floor(r.burst - extract(epoch from u.used_to - _ts) * 1000000 / r.each_us), 0)::integer, r.each_us,
    r.burst, u.used_to, s.used_to > u.used_to
  from (
    select given.rate[2] / given.rate[1]::numeric as each_us, taskq.burst_of(given.rate, _burst) as burst
    from (select taskq.rate_of(_rate) as rate where _rate is not null offset 0) as given
  ) as r
  left join taskq.group_rates s on s.queue = _queue and s.key = _key
  cross join lateral (
    select least(
      greatest(s.used_to, _ts), _ts + ceil(r.burst * r.each_us)::double precision * interval '1 microsecond'
    ) as used_to
  ) as u
$$;
