-- Reads what taskq.again_of has stored, as the row of a task that waits from now on, or from its own time if that is
-- later; its key, queue, type and group are those of the task that stored it. It is not a step of a workflow, even if
-- the task that it follows was one. Null: it cannot be read, because it was changed by hand; that must not make the end
-- or the freeing of a task fail.
create or replace function taskq.read_again(_task taskq.tasks, _ts timestamptz)
returns taskq.tasks
language plpgsql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  made taskq.tasks;
  asked_for timestamptz;
  due timestamptz;
begin
  made := jsonb_populate_record(null::taskq.tasks, _task.again - 'payload');
  -- As a member of a record, the JSON value null would be absent.
  made.payload := _task.again -> 'payload';
  made.payload_bytes := octet_length(made.payload::text);
  asked_for := case when made.available_at < 'infinity' then made.available_at else made.not_before end;
  if asked_for <= made.created_at then
    -- It was to run at once, and does so even if the clock has gone back since.
    asked_for := least(asked_for, _ts);
  end if;
  due := greatest(asked_for, _ts);
  made.expires_at := taskq.shifted(made.expires_at, asked_for, due);
  made.available_at := case when _task.group_key is null then due else 'infinity'::timestamptz end;
  made.queue := _task.queue;
  made.type := _task.type;
  made.unique_key := _task.unique_key;
  made.group_key := _task.group_key;
  -- The task that follows the end of a step (on_step) has a workflow and no step: so does the task that runs after it.
  made.workflow_id := case when _task.step is null then _task.workflow_id end;
  made.step := null;
  made.not_before := case when _task.group_key is null then made.not_before else due end;
  made.gate := taskq.first_gate(_task.group_key, due, _ts);
  made.status := case
    when _task.group_key is null then 'pending'::taskq.task_status else 'blocked'::taskq.task_status
  end;
  made.lease_owner := null;
  made.lease_expires_at := null;
  made.again := null;
  return case
    when num_nulls(
      made.id, made.available_at, made.not_before, made.created_at, made.lease_no, made.attempts, made.losses,
      made.releases, made.priority, made.notify_done, made.payload, made.created_by
    ) = 0 and made.priority between 0 and 9 and made.payload_bytes <= 1048576 then made
  end;
exception when data_exception or check_violation or program_limit_exceeded then
  return null;
end
$$;
