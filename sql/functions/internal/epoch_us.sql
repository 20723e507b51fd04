-- Returns a time in microseconds since 1970, as claims and hints use it. Never fails, whatever a row inserted by hand
-- has ('-infinity', the year 290000). Times before 1970 count as 1970, which changes only the order of claims among
-- those. Has no `set` clause, so that the planner can inline it.
create or replace function taskq.epoch_us(_at timestamptz)
returns bigint
language sql stable parallel safe
as $$
  select (extract(epoch from least(greatest(
    _at, timestamptz '1970-01-01 00:00:00+00'), timestamptz '9999-12-31 00:00:00+00'
  )) * 1000000)::bigint
$$;
