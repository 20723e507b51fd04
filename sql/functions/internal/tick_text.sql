-- Returns a tick as the source of its task has it: ISO 8601, in UTC, to the millisecond.
create or replace function taskq.tick_text(_tick timestamptz)
returns text
language sql stable parallel safe
as $$
  select to_char(_tick at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
