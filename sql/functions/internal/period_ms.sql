-- Returns the period for which a key is held in milliseconds, given as a number of them, or as text such as 3d, 24h,
-- 1h30m or 500ms. Null: not a period, or not 1 ms to 100 years.
create or replace function taskq.period_ms(_period jsonb)
returns bigint
language plpgsql immutable parallel safe
as $$
declare
  period constant text := _period #>> '{}';
  ms numeric;
begin
  if jsonb_typeof(_period) = 'number' then
    ms := case when scale(period::numeric) = 0 then period::numeric end;
  elsif jsonb_typeof(_period) = 'string' and period <> ''
    and period ~ '^([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,9}s)?([0-9]{1,15}ms)?$'
  then
    ms := coalesce(substring(period, '([0-9]+)d')::numeric, 0) * 86400000
      + coalesce(substring(period, '([0-9]+)h')::numeric, 0) * 3600000
      + coalesce(substring(period, '([0-9]+)m(?!s)')::numeric, 0) * 60000
      + coalesce(substring(period, '([0-9]+)s')::numeric, 0) * 1000
      + coalesce(substring(period, '([0-9]+)ms')::numeric, 0);
  end if;
  return case when ms between 1 and 3155760000000 then ms::bigint end;
end
$$;
