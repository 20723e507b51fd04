-- Returns whether the slot of a task may be taken back: no worker has the task, and it has never started, or its group
-- is stopped or has more slots than it may have now (_is_over), or it waits for a retry although the order is relaxed
-- (it was strict when it failed). One that stopped its group until now (gate 's') loses its slot only where something
-- else stops the group too. Inlined into the calling statement.
create or replace function taskq.may_lose_slot(
  _gate "char", _lease_owner integer, _started_at timestamptz, _available_at timestamptz, _is_over boolean,
  _is_strict boolean, _ts timestamptz
)
returns boolean
language sql immutable parallel safe
as $$
  select _lease_owner is null and case _gate
    when 'h' then _started_at is null or _is_over or (_available_at > _ts and not _is_strict)
    else _is_over and _available_at <= _ts
  end
$$;
