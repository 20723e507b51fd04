-- Makes the row of history of a task that ends: names every column of taskq.finished_tasks, in the order of the table.
-- Its lease_owner is the worker of the last attempt, even if it no longer held the task: it may repeat its settle.
--
-- Inlined into the calling statement, at no cost, which is why it names its schema and has no `set` clause.
create or replace function taskq.finished_task(
  task taskq.tasks, _status taskq.task_status, _ts timestamptz, _drop_on date, _kept_in date,
  _ran_ms bigint default null, _result jsonb default null, _result_note jsonb default null,
  _reason text default null, _ending text default null
)
returns setof taskq.finished_tasks
language sql stable
as $$
  select
    task.id, task.created_at, task.not_before,
    case
      when _status <> 'completed' then task.started_at
      when task.status = 'running' or _ran_ms is null then coalesce(task.started_at, _ts)
      else _ts - _ran_ms * interval '1 millisecond'
    end as started_at,
    _ts as finished_at, _drop_on as drop_on, _kept_in as kept_in, task.lease_no,
    case when _status = 'completed' then task.lease_owner else coalesce(task.lease_owner, task.settled_by) end
      as lease_owner,
    task.attempts, task.losses, task.releases,
    _status as status, task.priority, task.queue, task.type, task.payload, task.created_by, task.expires_at,
    task.timeout_ms, task.max_attempts, task.backoff, task.retention::text, _result as result,
    _result_note as result_note, task.error, task.tags, task.unique_key, task.group_key, task.workflow_id, task.step,
    task.on_end, task.traceparent, task.source,
    case when _status = 'cancelled' then coalesce(task.cancel_requested_at, _ts) else task.cancel_requested_at end
      as cancel_requested_at,
    coalesce(task.cancel_reason, _reason) as cancel_reason, _ending as ending, task.progress
$$;
