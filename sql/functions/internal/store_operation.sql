-- Stores an operation, which the caller has locked, and its end if it has one by now. Returns what is stored.
create or replace function taskq.store_operation(operation taskq.operations)
returns taskq.operations
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
begin
  if operation.state not in ('running', 'canary') then
    operation.ended_at := clock_timestamp();
  end if;
  if operation.is_walked and operation.at_least then
    operation.at_least := false;
    operation.matched := 0;
  end if;
  operation.matched := greatest(
    operation.matched, operation.done + operation.skipped + operation.failed + cardinality(operation.left_ids)
  );
  update taskq.operations o
  set ended_at = operation.ended_at, next_at = operation.next_at, acted_at = operation.acted_at,
    state = operation.state, stopped_because = operation.stopped_because, trouble = operation.trouble,
    tries = operation.tries, position = operation.position, is_walked = operation.is_walked,
    left_ids = operation.left_ids, left_since = operation.left_since, matched = operation.matched,
    at_least = operation.at_least, done = operation.done, skipped = operation.skipped, failed = operation.failed,
    ended = operation.ended, dead_again = operation.dead_again, watched_to = operation.watched_to,
    failures = operation.failures
  where o.id = operation.id;
  return operation;
end
$$;
