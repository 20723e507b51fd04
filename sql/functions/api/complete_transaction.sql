-- Records that a task which this worker holds has completed, as the last statement of the transaction in which its
-- handler has written: both are committed, or neither is. _completed is an element of what taskq.settle takes. Raises
-- unless it is recorded, with its follow-ups (see taskq.settle_and_enqueue), which undoes the transaction:
--   25000  the transaction is not the one in which taskq.transaction was set to _mark, for this transaction only. A
--          handler that commits or rolls back by hand loses the setting, and then its writes are not in this one.
--   55P03  another transaction has had the task's row locked, or the key of a follow-up, for about five seconds.
--   42501  the role may not call taskq.settle_and_enqueue, and there are follow-ups.
--   55000  another worker has the lease, or the task has ended.
--
-- Send it in one message with the commit, so that a worker that stalls between the two does not keep the row locked.
-- Waits for the row while the caller holds locks of its own, as taskq.settle never does: each wait ends after half a
-- second, so that a deadlock cannot last.
-- Arguments: _worker, as registered; options is empty.
-- Granted to: worker.
create or replace function taskq.complete_transaction(
  _worker integer, _completed json, _mark text, options jsonb default '{}'
)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
as $$
declare
  answer text;
  follows constant boolean := coalesce(json_typeof(_completed -> 'enqueue') <> 'null', false);
begin
  if options <> '{}' then
    perform taskq.refuse_unknown_options('complete_transaction', options, '{}');
  end if;
  if _completed ->> 'outcome' is distinct from 'completed' then
    raise exception 'outcome "%": expected completed', coalesce(_completed ->> 'outcome', 'none')
      using errcode = 'invalid_parameter_value';
  end if;
  if current_setting('taskq.transaction', true) is distinct from _mark then
    raise exception 'this is not the transaction that was begun for the handler: it was committed or rolled back'
      using errcode = 'invalid_transaction_state',
        hint = 'leave begin, commit and rollback to the worker; savepoints are free to use';
  end if;
  if follows and not taskq.may_enqueue_with_ends() then
    raise exception 'permission denied for function settle_and_enqueue' using errcode = 'insufficient_privilege';
  end if;
  for nth in 0 .. 9 loop
    if nth > 0 then
      perform taskq.wait_for_row('complete_transaction', _worker, to_jsonb((_completed ->> 'id')::bigint));
    end if;
    if follows then
      begin
        select s.answer into answer from taskq.settle_followed(_worker, json_build_array(_completed), 500) as s;
      exception when lock_not_available then
        -- A producer has the key of a follow-up in an open transaction.
        if nth = 9 then
          raise;
        end if;
        answer := 'busy';
      end;
    else
      select s.answer into answer from taskq.settle(_worker, json_build_array(_completed)) as s;
    end if;
    exit when answer is distinct from 'busy';
  end loop;
  if answer = 'busy' then
    raise exception 'task % cannot be completed: another transaction has its row locked', _completed ->> 'id'
      using errcode = 'lock_not_available';
  end if;
  if answer is distinct from 'recorded' then
    raise exception 'task % cannot be completed: another worker has its lease, or it has ended', _completed ->> 'id'
      using errcode = 'object_not_in_prerequisite_state';
  end if;
end
$$;
