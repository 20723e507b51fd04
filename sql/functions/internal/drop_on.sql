-- Returns the last day (UTC) on which a row that ended at that time is kept; null: it is not kept at all; 'infinity':
-- forever. Above 60 days it is rounded up to the first of a month, so that a month of history is one partition. One
-- expression without FROM, so that the planner can inline it into the statement of a settle.
create or replace function taskq.drop_on(_retention text, _ended timestamptz)
returns date
language sql immutable parallel safe
as $$
  select case
    when _retention = 'none' then null
    when _retention = 'ever' then 'infinity'::date
    when rtrim(_retention, 'd')::integer <= 60
      then (_ended at time zone 'UTC')::date + rtrim(_retention, 'd')::integer
    else (date_trunc(
      'month', ((_ended at time zone 'UTC')::date + rtrim(_retention, 'd')::integer - 1)::timestamp
    ) + interval '1 month')::date
  end
$$;
