-- Lets steps of a workflow that has been retried wait for their parents again: those that return (_made, of the tasks
-- _ids of these _steps) and those that waited all the time wait for each parent that returns with them.
create or replace function taskq.wait_again(_id bigint, _steps text[], _ids bigint[], _made bigint[])
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Every join here looks up a row by its key.
set enable_hashjoin = off
set enable_mergejoin = off
-- Only as a constant of its plan is a list of ids hashed.
set plan_cache_mode = force_custom_plan
as $$
begin
  update taskq.workflow_edges e set is_met = false
  from unnest(_steps, _ids) as parent (step, task_id)
  cross join lateral (
    select l.workflow_id, l.parent, l.child
    from taskq.workflow_edges l
    cross join lateral (
      select c.task_id, c.status from taskq.workflow_steps c
      where c.workflow_id = l.workflow_id and c.step = l.child limit 1
    ) as child
    where l.workflow_id = _id and l.parent between parent.step and parent.step and l.is_met
      and (child.status = 'waiting' or child.task_id = any (_made))
  ) as again
  where parent.task_id = any (_made)
    and e.workflow_id = again.workflow_id and e.parent = again.parent and e.child = again.child;
  -- Those that return, and those that waited already and now wait for one more.
  update taskq.workflow_steps s
  set (parents_left, status) = (
      select count(*)::integer, case when s.status = 'waiting' or count(*) > 0 then 'waiting' else 'released' end
      from taskq.workflow_edges e where e.workflow_id = _id and e.child between s.step and s.step and not e.is_met
    ),
    started_at = case when s.status = 'waiting' then s.started_at end, attempts = 0, ended_at = null, drop_on = null,
    cancelled_by = null, result = null, result_note = null
  where s.workflow_id = _id and (s.status = 'waiting' or s.task_id = any (_made));
  -- By a list: joined with it, a table that the planner believes to be empty would be read first, and the list once for
  -- each of its rows.
  update taskq.tasks t set gate = 'p', status = 'blocked', available_at = 'infinity'
  where t.id = any (array(
    select o.task_id
    from unnest(_steps, _ids) as o (step, task_id)
    cross join lateral (
      select l.status from taskq.workflow_steps l where l.workflow_id = _id and l.step = o.step limit 1
    ) as s
    where o.task_id = any (_made) and s.status = 'waiting'
  ));
end
$$;
