-- Makes those of these revived tasks that are dead steps of workflows run again, and asks the next claim to count them:
-- what waits for them goes on when they complete.
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
begin
  with back as materialized (
    select s.*
    from unnest(_ids) as revived (id)
    cross join lateral (
      select l.id, l.workflow_id, l.step from taskq.tasks l where l.id = revived.id and l.step is not null limit 1
    ) as t
    cross join lateral (
      select l.workflow_id, l.step, l.cancelled_by from taskq.workflow_steps l
      where l.workflow_id = t.workflow_id and l.step = t.step and l.task_id = t.id and l.status = 'dead'
      limit 1
      for no key update
    ) as s
  ),
  revived as (
    update taskq.workflow_steps s set status = 'released', ended_at = null, drop_on = null
    from back b
    where s.workflow_id = b.workflow_id and s.step = b.step
  )
  insert into taskq.workflow_asks (due_at, workflow_id, live, deaths)
  select _ts, b.workflow_id, count(*), -count(*) filter (where b.cancelled_by is null)
  from back b group by b.workflow_id;
end
$$;
