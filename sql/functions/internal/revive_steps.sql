-- Returns the dead steps among these revived tasks to their workflows, and asks the next claim to count them: their
-- children continue once they complete. A step that died while it waited for parents (`dead add`) waits for them again.
-- A workflow whose on_step task returns is no longer stuck.
create or replace function taskq.revive_steps(_ids bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- Every join here looks up a row by its key.
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  ids bigint[];
  of_workflow bigint[];
  steps text[];
begin
  insert into taskq.workflow_asks (due_at, workflow_id)
  select _ts, t.workflow_id
  from unnest(_ids) as revived (id)
  cross join lateral (
    select l.workflow_id from taskq.tasks l
    where l.id = revived.id and l.step is null and coalesce(l.workflow_id, 0) <> 0
    limit 1
  ) as t;
  -- Lock first: the next statement then sees the counts of a claim that had a row locked.
  select array_agg(t.id), array_agg(s.workflow_id), array_agg(s.step) into ids, of_workflow, steps
  from unnest(_ids) as revived (id)
  cross join lateral (
    select l.id, l.workflow_id, l.step from taskq.tasks l where l.id = revived.id and l.step is not null limit 1
  ) as t
  cross join lateral (
    select l.workflow_id, l.step from taskq.workflow_steps l
    where l.workflow_id = t.workflow_id and l.step = t.step and l.task_id = t.id and l.status = 'dead'
    limit 1
    for no key update
  ) as s;
  if ids is null then
    return;
  end if;
  with back as materialized (
    select b.id, b.workflow_id, b.step, w.parents, cardinality(w.parents) as parents_left
    from unnest(ids, of_workflow, steps) as b (id, workflow_id, step)
    cross join lateral (
      select array(
        select e.parent from taskq.workflow_edges e
        -- `between`: as in taskq.meet_edges.
        where e.workflow_id = b.workflow_id and e.child between b.step and b.step and not e.is_met
      ) as parents
    ) as w
  ),
  revived as (
    update taskq.workflow_steps s
    set status = case when b.parents_left > 0 then 'waiting' else 'released' end, parents_left = b.parents_left,
      ended_at = null, drop_on = null
    from back b
    where s.workflow_id = b.workflow_id and s.step = b.step
    returning s.workflow_id, s.step, s.cancelled_by
  ),
  gated as (
    update taskq.tasks t set gate = 'p', status = 'blocked', available_at = 'infinity'
    from back b
    where t.id = b.id and b.parents_left > 0
  )
  -- Ask for those parents that have ended meanwhile.
  insert into taskq.workflow_asks (due_at, workflow_id, live, waiting, deaths, steps)
  select _ts, r.workflow_id, count(*), count(*) filter (where b.parents_left > 0),
    -count(*) filter (where r.cancelled_by is null), coalesce((
      select array_agg(distinct p.parent) from back o cross join lateral unnest(o.parents) as p (parent)
      where o.workflow_id = r.workflow_id
    ), '{}')
  from revived r
  join back b on b.workflow_id = r.workflow_id and b.step = r.step
  group by r.workflow_id;
end
$$;
