-- Returns the id of the live on_step task of a workflow, as far as is committed; null: there is none. Looks it up by
-- its key: the tasks of the workflow include all its steps.
create or replace function taskq.live_on_step(_workflow bigint)
returns bigint
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  -- `coalesce`: not by the index of workflows.
  select t.id from taskq.tasks t
  where t.unique_key = 'workflow:' || _workflow and coalesce(t.workflow_id, 0) = _workflow
  limit 1
$$;
