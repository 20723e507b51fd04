-- Returns the period for which a key is held in milliseconds, given as a number of them, or as text such as 3d, 24h,
-- 1h30m or 500ms. Null: not a period, or not 1 ms to 100 years.
create or replace function taskq.period_ms(_period jsonb)
returns bigint
language sql immutable parallel safe
as $$
  select case when read.ms between 1 and 3155760000000 then read.ms::bigint end
  from (values (_period #>> '{}')) as given (period)
  cross join lateral (
    select case
      when jsonb_typeof(_period) = 'number' then
        case when scale(given.period::numeric) = 0 then given.period::numeric end
      when jsonb_typeof(_period) = 'string' and given.period <> ''
        and given.period ~ '^([0-9]{1,9}d)?([0-9]{1,9}h)?([0-9]{1,9}m)?([0-9]{1,9}s)?([0-9]{1,15}ms)?$'
        then coalesce(substring(given.period, '([0-9]+)d')::numeric, 0) * 86400000
          + coalesce(substring(given.period, '([0-9]+)h')::numeric, 0) * 3600000
          + coalesce(substring(given.period, '([0-9]+)m(?!s)')::numeric, 0) * 60000
          + coalesce(substring(given.period, '([0-9]+)s')::numeric, 0) * 1000
          + coalesce(substring(given.period, '([0-9]+)ms')::numeric, 0)
    end as ms
  ) as read
$$;
