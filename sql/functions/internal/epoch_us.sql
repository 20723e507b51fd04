-- A time in microseconds since 1970, as claims and hints name it: never an error, whatever a row put in by hand says
-- ('-infinity', the year 290000). What lies before 1970 counts as then, which no order of claims notices but theirs.
-- Without a setting of its own, so that the planner makes it a part of the statement.
create or replace function taskq.epoch_us(_at timestamptz)
returns bigint
language sql stable parallel safe
as $$
  select (extract(epoch from least(greatest(
    _at, timestamptz '1970-01-01 00:00:00+00'), timestamptz '9999-12-31 00:00:00+00'
  )) * 1000000)::bigint
$$;
