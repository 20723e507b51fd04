-- Records that processing a task has failed, and why. It changes nothing else: the task keeps its lease, and is
-- returned again once that is over, unless queues.complete_task is called. Also records the failure of a task that has
-- ended, or is a dead letter. Does not wait for a transaction that has locked the task.
--
-- Errors: 42501, another role or a worker process holds the task, or held it last before it ended; 55000, no session
-- holds the task and the role did not hold it last, or it ended without ever being held; P0002, there is no such task.
-- Arguments: _error_message, of which the first 8,000 characters are kept.
-- Granted to: worker.
create or replace function queues.fail_task(_task_id bigint, _error_message text)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
declare
  ts constant timestamptz := clock_timestamp();
  held constant record := taskq.session_lease('fail_task', _task_id, false);
begin
  insert into taskq.counts (at, tasks, event, queue, type) values (ts, 1, 'failed', 'queues', held.type);
  perform taskq.ensure_place('task_errors');
  insert into taskq.task_errors (
    task_id, lease_no, attempt, outcome, failed_at, lease_owner, drop_on, kept_in, queue, type, error
  )
  select _task_id, held.lease_no, held.attempts + 1, 'failed', ts, held.owner, kept.drop_on,
    taskq.place_of('task_errors', kept.drop_on), 'queues', held.type,
    jsonb_build_object('name', 'Error', 'message', left(coalesce(_error_message, ''), 8000))
  from taskq.defaults d
  left join taskq.queues q on q.name = 'queues'
  cross join lateral (select taskq.drop_on(coalesce(q.errors_retention, d.errors_retention), ts) as drop_on) as kept
  where kept.drop_on is not null;
end
$$;
