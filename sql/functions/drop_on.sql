-- The last day (UTC) on which a row that ended at that time is kept; null: it is not kept at all, 'infinity':
-- for ever. Above 60 days it is rounded up to the first of a month, beyond 24 months it is for ever, so that
-- fewer than a hundred partitions serve the retention of every queue.
create or replace function taskq.drop_on(_retention text, _ended timestamptz)
returns date
language sql immutable parallel safe
as $$
  select case
    when _retention = 'none' then null
    when _retention = 'ever' then 'infinity'::date
    when days <= 60 then ended_on + days
    when days > 700 then 'infinity'::date
    else (date_trunc('month', (ended_on + days - 1)::timestamp) + interval '1 month')::date
  end
  from (
    select (_ended at time zone 'UTC')::date as ended_on,
      case when _retention not in ('none', 'ever') then rtrim(_retention, 'd')::integer end as days
  ) as kept
$$;
