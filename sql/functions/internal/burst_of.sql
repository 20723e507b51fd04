-- Returns how many tasks may start at once after a pause by a rate (see taskq.rate_of) with this burst. Null: what the
-- rate allows in a tenth of a second, because workers may be that late.
create or replace function taskq.burst_of(_rate bigint[], _burst integer)
returns integer
language sql immutable parallel safe
as $$
  select case when _rate is not null
    then coalesce(_burst, least(greatest(ceil(_rate[1] * 100000.0 / _rate[2]), 1), 100000)::integer)
  end
$$;
