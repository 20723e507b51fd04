-- Notes the end of those of these tasks that are steps of workflows: once per step, with its result, and an ask for
-- each workflow, which the next claim attends to (taskq.attend_workflows). The caller has locked the tasks and is about
-- to delete them from the live table. The arrays are parallel; those with a default may be null as a whole.
--
-- The row of a step that has a live task is written by whoever has locked that task, and by a claim that attends to its
-- workflow, which waits for nothing. An application or a person may have it locked: a caller that must not wait for
-- them locks it first (taskq.lock_steps), and leaves the task as it is if it cannot.
--
-- A task of a workflow without a step is the one that follows the end of a step (on_step): its ask makes the next one
-- possible.
--
-- Wakes a sleeping worker to attend to it, unless _wakes is false because the caller claims at once.
create or replace function taskq.note_steps(
  _status text, _ids bigint[], _ts timestamptz, _ran_ms bigint[] default null, _results jsonb[] default null,
  _result_notes jsonb[] default null, _wakes boolean default true
)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
-- Its callers taskq.complete and taskq.move_to_dead turn it off.
set enable_nestloop = on
-- Every join here looks up a row by its key.
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
  hint record;
begin
  for hint in
    with ended as materialized (
      select t.id, t.workflow_id, t.step, t.queue, t.attempts, e.result, e.note, s.status as was, s.cancelled_by,
        case
          when _status <> 'completed' then t.started_at
          when t.status = 'running' or e.ran_ms is null then coalesce(t.started_at, _ts)
          else _ts - e.ran_ms * interval '1 millisecond'
        end as started_at,
        greatest(taskq.drop_on(kept.kept_for, _ts), taskq.drop_on('1d', _ts)) as drop_on
      from unnest(_ids, _ran_ms, _results, _result_notes) as e (id, ran_ms, result, note)
      -- Not `workflow_id is not null`: the index of workflows would do for that, and all steps be read for each.
      cross join lateral (select l.* from taskq.tasks l where l.id = e.id limit 1) as t
      left join taskq.task_types y on y.name = t.type
      left join taskq.queues q on q.name = t.queue
      cross join taskq.defaults d
      cross join lateral (select coalesce(t.retention, y.retention, q.retention, d.retention) as kept_for) as kept
      left join lateral (
        select l.status, l.cancelled_by from taskq.workflow_steps l
        where l.workflow_id = t.workflow_id and l.step = t.step and l.task_id = t.id
          and l.status in ('waiting', 'released')
        limit 1
      ) as s on true
    ),
    noted as (
      update taskq.workflow_steps s
      set status = _status, started_at = e.started_at, ended_at = _ts, attempts = e.attempts, drop_on = e.drop_on,
        result = e.result, result_note = e.note
      from ended e
      where s.workflow_id = e.workflow_id and s.step = e.step and e.was is not null
    ),
    asked as (
      insert into taskq.workflow_asks (due_at, workflow_id, live, waiting, deaths, steps)
      select _ts, e.workflow_id, -count(e.was), -count(*) filter (where e.was = 'waiting'),
        count(e.was) filter (where _status <> 'completed' and e.cancelled_by is null),
        coalesce(array_agg(e.step) filter (where e.was is not null), '{}')
      from ended e
      where e.workflow_id is not null and (e.was is not null or e.step is null)
      group by e.workflow_id
      returning workflow_id
    )
    select distinct e.queue from ended e join asked a on a.workflow_id = e.workflow_id
  loop
    if _wakes then
      perform taskq.wake_any(hint.queue, _ts);
    end if;
  end loop;
end
$$;
