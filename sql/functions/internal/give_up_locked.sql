-- Counts the tasks that an operation has skipped as locked by other transactions as failed. Returns the changed
-- operation.
create or replace function taskq.give_up_locked(operation taskq.operations)
returns taskq.operations
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
begin
  operation.failed := operation.failed + cardinality(operation.left_ids);
  operation.failures := taskq.first_failures(operation.failures || (
    select jsonb_agg(jsonb_build_object(
      'id', l.id::text, 'answer', 'locked', 'error', 'another transaction has it locked'
    ))
    from unnest(operation.left_ids) as l (id)
  ));
  operation.left_ids := '{}';
  operation.left_since := null;
  return operation;
end
$$;
