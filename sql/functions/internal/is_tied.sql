-- Returns whether something else waits for the end of a task: its group for the slot, a task that replaces it, a
-- follow-up, or its workflow. Such a task goes through taskq.leave. Inlined into the calling statement.
create or replace function taskq.is_tied(_gate "char", _again jsonb, _on_end jsonb, _workflow_id bigint)
returns boolean
language sql immutable parallel safe
as $$
  select num_nonnulls(_gate, _again, _on_end, _workflow_id) > 0
$$;
