-- Returns whether an open workflow waits in vain for its on_step task: the last one has died or was cancelled, or the
-- steps it adds would not run, because the workflow fails fast; and none is live or about to be enqueued.
create or replace function taskq.has_no_on_step(_workflow taskq.workflows)
returns boolean
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select taskq.live_on_step(_workflow.id) is null and case
    when _workflow.failing_at is not null and _workflow.fail_fast then _workflow.has_told_failing
    else not _workflow.step_due and ((
      select true from taskq.dead_tasks d
      where d.workflow_id = _workflow.id and d.step is null and d.id >= _workflow.on_step_task
      limit 1
    ) or (
      select true from taskq.finished_tasks f
      where f.id = _workflow.on_step_task and f.status in ('cancelled', 'expired') limit 1
    )) is true
  end
$$;
