-- Returns whether a waiting task may start now: it has not expired, or it has been started before, after which a task
-- never expires. Inlined into the calling statement.
create or replace function taskq.may_start(_expires_at timestamptz, _started_at timestamptz, _ts timestamptz)
returns boolean
language sql immutable parallel safe
as $$
  select _expires_at is null or _expires_at > _ts or _started_at is not null
$$;
