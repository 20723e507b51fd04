-- Ends, as cancelled, these steps (parallel arrays), whose tasks were deleted by hand. One that its caller cancels
-- because of a parent has cancelled_by: that is no death of its own.
create or replace function taskq.end_lost_steps(_of bigint[], _steps text[], _ts timestamptz)
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
  with lost as materialized (
    select s.*
    from unnest(_of, _steps) as asked (workflow_id, step)
    cross join lateral (
      select l.workflow_id, l.step, l.status, l.cancelled_by from taskq.workflow_steps l
      where l.workflow_id = asked.workflow_id and l.step = asked.step and l.status in ('waiting', 'released')
      limit 1
      for no key update skip locked
    ) as s
  ),
  ended as (
    update taskq.workflow_steps s
    set status = 'cancelled', ended_at = _ts, drop_on = taskq.drop_on('1d', _ts)
    from lost
    where s.workflow_id = lost.workflow_id and s.step = lost.step
  )
  insert into taskq.workflow_asks (due_at, workflow_id, live, waiting, deaths, steps)
  select _ts, lost.workflow_id, -count(*), -count(*) filter (where lost.status = 'waiting'),
    count(*) filter (where lost.cancelled_by is null), array_agg(lost.step)
  from lost group by lost.workflow_id;
end
$$;
