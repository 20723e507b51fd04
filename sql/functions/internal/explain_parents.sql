-- Returns why a step waits for its parents (`waiting_for_parents`): the first ten that it waits for, each with its
-- status and the effect of its death on the step, and how many more there are. None: a worker releases the step with
-- its next claim. For the columns see taskq.explain.
create or replace function taskq.explain_parents(_task taskq.tasks)
returns table (cause text, until timestamptz, about jsonb)
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
as $$
  select 'waiting_for_parents', 'infinity'::timestamptz, jsonb_build_object(
    'workflow', _task.workflow_id::text, 'step', _task.step, 'parents', coalesce(unmet.first_ten, '[]'),
    'more', greatest(unmet.count - 10, 0)
  )
  from (
    select count(*) as count, jsonb_agg(
      jsonb_build_object('step', p.parent, 'task', p.task_id::text, 'status', p.status, 'on_death', p.on_death)
      order by p.task_id
    ) filter (where p.nth <= 10) as first_ten
    from (
      select e.parent, e.on_death, s.task_id, taskq.step_status(s.status, t.status) as status,
        row_number() over (order by s.task_id) as nth
      from taskq.workflow_edges e
      join taskq.workflow_steps s on s.workflow_id = e.workflow_id and s.step = e.parent
      left join taskq.tasks t on t.id = s.task_id
      where e.workflow_id = _task.workflow_id and e.child = _task.step and not e.is_met
    ) as p
  ) as unmet
  where _task.gate = 'p'
$$;
