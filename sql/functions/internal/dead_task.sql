-- Makes a dead letter of a task: names every column of taskq.dead_tasks, in the order of the table. Its lease_owner is
-- the worker of the last attempt, even if it no longer held the task: it may repeat its settle.
--
-- Inlined into the calling statement, at no cost, which is why it names its schema and has no `set` clause.
create or replace function taskq.dead_task(
  task taskq.tasks, _id bigint, _ts timestamptz, _reason text, _by_hand boolean
)
returns setof taskq.dead_tasks
language sql stable
as $$
  select
    _id as id, task.created_at, task.not_before, task.started_at, _ts as died_at, task.lease_no,
    coalesce(task.lease_owner, task.settled_by) as lease_owner, task.attempts, task.losses, task.releases,
    task.priority, task.notify_done, _by_hand as by_hand, task.again is not null as superseded,
    _reason as reason, task.error, task.queue, task.type, task.payload, task.created_by, task.timeout_ms,
    task.max_attempts, task.workflow_id, task.step, task.unique_key, task.group_key, task.tags, task.backoff,
    task.retention, task.on_end, task.traceparent, task.source, task.progress,
    taskq.fingerprint(task.type, _reason, task.error) as fingerprint
$$;
