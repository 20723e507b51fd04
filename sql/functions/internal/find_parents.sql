-- Finds the parents of steps that are about to be added: for each edge the place of the parent, if it is new too, else
-- null. The arrays are those of taskq.enqueue_steps. Refuses a parent that is named twice, one that is no step, and a
-- cycle.
create or replace function taskq.find_parents(
  _of text, _flows bigint[], _names text[], _children integer[], _parent_names text[], _new bigint,
  out parents integer[]
)
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
begin
  select e.parent, e.child into bad
  from unnest(_parent_names, _children) as e (parent, child)
  group by e.child, e.parent having count(*) > 1 limit 1;
  if bad.parent is not null then
    raise exception '%: step % names its parent % twice', _of, to_json(_names[bad.child]), to_json(bad.parent)
      using errcode = 'invalid_parameter_value';
  end if;
  select array_agg(s.place order by e.nth) into parents
  from unnest(_parent_names, _children) with ordinality as e (parent, child, nth)
  join unnest(_flows) with ordinality as c (workflow_id, place) on c.place = e.child
  left join unnest(_flows, _names) with ordinality as s (workflow_id, step, place)
    on s.workflow_id = c.workflow_id and s.step = e.parent;
  select e.parent, e.child, c.workflow_id into bad
  from unnest(_parent_names, _children, parents) as e (parent, child, place)
  join unnest(_flows) with ordinality as c (workflow_id, place) on c.place = e.child
  where e.place is null and (
    _new is not null or (
      select true from taskq.workflow_steps s
      where s.workflow_id = c.workflow_id and s.step = e.parent limit 1
    ) is null
  )
  limit 1;
  if bad.parent is not null then
    raise exception '%: step% waits for %, which is no step of the workflow%', _of,
      coalesce(' ' || to_json(_names[bad.child])::text, ' of task ' || nullif(bad.child, 1), ''),
      to_json(bad.parent),
      taskq.did_you_mean(bad.parent, array(
        select n.step
        from (
          select s.step from unnest(_flows, _names) as s (workflow_id, step)
          where s.workflow_id = bad.workflow_id and s.step is not null and s.step is distinct from _names[bad.child]
          union all
          select s.step from taskq.workflow_steps s where s.workflow_id = bad.workflow_id and _new is null
        ) as n
        limit 10000
      ))
      using errcode = 'invalid_parameter_value', constraint = 'a_parent_is_a_step';
  end if;
  perform taskq.refuse_cycle(_of, _names, array_agg(e.parent), array_agg(e.child))
  from unnest(parents, _children) as e (parent, child) where e.parent is not null having count(*) > 0;
end
$$;
