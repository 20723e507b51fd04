-- Returns whether the end of a task frees a slot of its group, withdraws what it has asked for, or lets a task follow
-- that replaces it. Such a task goes through taskq.leave. Inlined into the calling statement.
create or replace function taskq.is_tied(_gate "char", _again jsonb)
returns boolean
language sql immutable parallel safe
as $$
  select coalesce(_gate in ('h', 's', 'd'), false) or _again is not null
$$;
