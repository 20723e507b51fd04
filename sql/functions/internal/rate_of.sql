-- Returns a rate such as 100/1m as [starts, microseconds]. Null: it is none, or not 1 to 1000000 starts in 1 ms to 366
-- d.
--
-- Not in SQL, whose statements would be planned in every call of a fill or a claim [300 us; this way 6].
create or replace function taskq.rate_of(_rate text)
returns bigint[]
language plpgsql immutable parallel safe
as $$
declare
  part constant text[] := regexp_match(_rate, '^([1-9][0-9]{0,6})/([0-9a-z]{2,30})$');
  ms constant bigint := taskq.period_ms(to_jsonb(part[2]));
begin
  return case when part[1]::integer <= 1000000 and ms <= 31622400000 then array[part[1]::bigint, ms * 1000] end;
end
$$;
