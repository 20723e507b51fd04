-- Returns whether a task has expired before it started, so that a new task may take its place. A step of a workflow
-- ends instead, when housekeeping comes: its workflow needs to know. Inlined into the calling statement.
create or replace function taskq.has_expired(_task taskq.tasks, _ts timestamptz)
returns boolean
language sql immutable parallel safe
as $$
  select _task.lease_owner is null and _task.workflow_id is null
    and not taskq.may_start(_task.expires_at, _task.started_at, _ts)
$$;
