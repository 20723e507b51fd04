-- Returns a workflow, as JSON: the columns of taskq.list_workflows, and its steps in the order of their tasks: [{step,
-- task_id, type, queue, status (that of the task; `gone` if its row was deleted by hand), waits (for its parents),
-- attempts, started_at, ended_at, due_at (of one that is pending), reason (why it is dead or cancelled), cancelled_by
-- (the parent whose death cancelled it), parents: [{step, on_death, is_met}]}]; is_met: the step does not, or no
-- longer, wait for this parent. Null: no such workflow (it never existed, or outlived its retention).
-- Granted to: reader, operator.
create or replace function taskq.show_workflow(_id bigint)
returns jsonb
language sql stable security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  select to_jsonb(w) - 'extra' || jsonb_build_object(
    'id', w.id::text,
    'steps', coalesce((
      select jsonb_agg(
        jsonb_build_object(
          'step', s.step, 'task_id', s.task_id::text, 'type', s.type, 'queue', s.queue,
          'status', taskq.step_status(s.status, t.status), 'waits', coalesce(t.gate = 'p', false),
          'attempts', coalesce(t.attempts, s.attempts), 'started_at', coalesce(t.started_at, s.started_at),
          'ended_at', case when t.id is null then s.ended_at end,
          'due_at', case when t.status = 'pending' then nullif(t.available_at, 'infinity') end,
          'reason', case when t.id is null then coalesce(d.reason, f.cancel_reason) end,
          'cancelled_by', case when t.id is null then s.cancelled_by end,
          'parents', coalesce(p.parents, '[]')
        )
        order by s.task_id
      )
      from taskq.workflow_steps s
      left join taskq.tasks t on t.id = s.task_id
      left join taskq.dead_tasks d on s.status = 'dead' and d.id = s.task_id
      left join lateral (
        select f.cancel_reason from taskq.finished_tasks f
        where s.status = 'cancelled' and s.cancelled_by is null and f.id = s.task_id
        limit 1
      ) as f on true
      left join lateral (
        select jsonb_agg(
          jsonb_build_object('step', e.parent, 'on_death', e.on_death, 'is_met', e.is_met)
          order by of_parent.task_id
        ) as parents
        from taskq.workflow_edges e
        join taskq.workflow_steps of_parent on of_parent.workflow_id = e.workflow_id and of_parent.step = e.parent
        where e.workflow_id = s.workflow_id and e.child between s.step and s.step
      ) as p on true
      where s.workflow_id = _id
    ), '[]')
  )
  from taskq.list_workflows(options => jsonb_build_object('id', _id)) as w
$$;
