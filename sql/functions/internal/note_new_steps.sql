-- Inserts the rows of steps whose tasks were just inserted. The arrays are those of taskq.enqueue_steps. Refuses a step
-- that its workflow has already.
create or replace function taskq.note_new_steps(
  _of text, _flows bigint[], _names text[], _ids bigint[], _news boolean[], _children integer[]
)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Every join is one of arrays, whose size the planner does not know.
set enable_nestloop = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  bad record;
  added integer;
begin
  insert into taskq.workflow_steps (workflow_id, task_id, parents_left, step, status, queue, type)
  select t.workflow_id, t.id, coalesce(w.parents, 0), t.step,
    case when t.gate = 'p' then 'waiting' else 'released' end, t.queue, t.type
  from unnest(_flows, _ids, _news) with ordinality as made (workflow_id, id, is_new, place)
  cross join lateral (
    select l.id, l.workflow_id, l.step, l.gate, l.queue, l.type from taskq.tasks l where l.id = made.id limit 1
  ) as t
  left join (
    select c.child, count(*)::integer as parents from unnest(_children) as c (child) group by c.child
  ) as w on w.child = made.place
  where made.is_new and made.workflow_id is not null
  -- So that two calls that add the same steps never wait for each other in a ring.
  order by t.workflow_id, t.step collate "C"
  on conflict do nothing;
  get diagnostics added = row_count;
  if added < (
    select count(*) from unnest(_flows, _news) as made (workflow_id, is_new)
    where made.is_new and made.workflow_id is not null
  ) then
    select s.workflow_id, s.step into bad
    from unnest(_flows, _names, _ids, _news) as made (workflow_id, step, id, is_new)
    cross join lateral (
      select l.workflow_id, l.step from taskq.workflow_steps l
      where l.workflow_id = made.workflow_id and l.step = coalesce(made.step, made.id::text) and l.task_id <> made.id
      limit 1
    ) as s
    where made.is_new
    limit 1;
    raise exception '%: workflow % has a step % already', _of, bad.workflow_id, to_json(bad.step)
      using errcode = 'invalid_parameter_value', constraint = 'a_workflow_has_a_step_once';
  end if;
end
$$;
