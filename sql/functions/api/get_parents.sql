-- Returns the parents of a task that is a step of a workflow: their status (that of a task) and, of those that have
-- completed, the result, or in result_note why it was not stored. A parent that has ended and was revived since has the
-- status of its task. No row: the task is no step, or has no parents, or nothing is known of it any longer.
-- Arguments: _task, its id.
-- Granted to: worker.
create or replace function taskq.get_parents(_task bigint)
returns table (step text, status text, result jsonb, result_note jsonb, extra jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select p.step, taskq.step_status(p.status, t.status), p.result, p.result_note, null::jsonb
  from taskq.all_tasks child
  join taskq.workflow_edges e on e.workflow_id = child.workflow_id and e.child = child.step
  join taskq.workflow_steps p on p.workflow_id = e.workflow_id and p.step = e.parent
  left join taskq.tasks t on t.id = p.task_id
  where child.id = _task
  order by p.task_id
$$;
