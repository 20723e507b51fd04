-- Returns a rate such as 100/1m as [starts, microseconds]. Null: it is none, or not 1 to 1000000 starts in 1 ms to 366
-- d.
create or replace function taskq.rate_of(_rate text)
returns bigint[]
language sql immutable parallel safe
as $$
  select array[given.starts::bigint, given.ms * 1000]
  from (
    select part[1]::integer as starts, taskq.period_ms(to_jsonb(part[2])) as ms
    from regexp_match(_rate, '^([1-9][0-9]{0,6})/([0-9a-z]{2,30})$') as part
  ) as given
  where given.starts <= 1000000 and given.ms <= 31622400000
$$;
