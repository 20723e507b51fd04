-- Does the next batch of an operation: checks the tasks it has revived, acts on its next tasks, and decides how to
-- continue. Returns the changed operation, which the caller stores.
create or replace function taskq.advance_operation(operation taskq.operations)
returns taskq.operations
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  watched record;
  batch record;
  done_before bigint := operation.done;
  room integer;
begin
  if operation.stop_at is not null then
    watched := taskq.watch_revived(operation.id, operation.watched_to);
    operation.ended := operation.ended + watched.ended;
    operation.dead_again := operation.dead_again + watched.died;
    operation.watched_to := watched.watched_to;
    operation.stopped_because := taskq.why_stopped(operation);
    if operation.stopped_because is not null then
      operation.state := 'stopped';
      return operation;
    end if;
  end if;
  if operation.state = 'canary' and operation.ended = operation.done
    and (operation.done = operation.canary or (operation.is_walked and operation.left_ids = '{}'))
  then
    operation.state := 'running';
  end if;
  -- Small batches for rerun and edit: a payload may have a megabyte, a bulk has at most 256, and the audit of an edit
  -- stores the old payloads.
  batch := taskq.batch_of_rate(operation.rate, case when operation.verb in ('rerun', 'edit') then 100 else 500 end);
  room := case when operation.state = 'canary' then operation.canary - operation.done else batch.tasks end;
  if room > 0 and not (operation.is_walked and operation.left_ids = '{}') then
    operation := taskq.act_on_batch(operation, room);
    if operation.left_since < clock_timestamp() - interval '1 minute' then
      operation := taskq.give_up_locked(operation);
    end if;
  end if;
  if operation.is_walked and operation.left_ids = '{}' and operation.state = 'running' then
    operation.state := 'completed';
  end if;
  if operation.done > done_before then
    operation.acted_at := clock_timestamp();
  end if;
  operation.next_at := clock_timestamp() + case
    when operation.state = 'canary' and (
      operation.done = operation.canary or (operation.is_walked and operation.left_ids = '{}')
    ) then
      -- Check less often the longer nothing happens.
      least(greatest((clock_timestamp() - operation.acted_at) / 10, interval '1 s'), interval '15 s')
    when operation.left_since is not null then interval '1 s'
    when operation.done > done_before and operation.state = 'running' then batch.gap
    else interval '0'
  end;
  return operation;
end
$$;
