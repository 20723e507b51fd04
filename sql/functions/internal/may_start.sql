-- Whether a waiting task may start at this moment: it has not expired. One that was started once never expires.
-- Planned as a part of the statement that asks.
create or replace function taskq.may_start(_expires_at timestamptz, _started_at timestamptz, _ts timestamptz)
returns boolean
language sql immutable parallel safe
as $$
  select _expires_at is null or _expires_at > _ts or _started_at is not null
$$;
