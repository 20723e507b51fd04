-- Cancels the steps that wait for one of these (parallel arrays) that has died, by an edge whose on_death is cancel,
-- and those that wait for them in the same way, 10,000 in one call. For one that others have locked, leaves an ask in
-- 50 ms, by the name of its parent.
create or replace function taskq.cancel_below(
  _of bigint[], _steps text[], _statuses text[], _ts timestamptz, _each boolean
)
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
#variable_conflict use_column
declare
  most constant integer := 10000;
  below_of bigint[];
  below text[];
begin
  select array_agg(d.workflow_id), array_agg(d.step) into _of, _steps
  from unnest(_of, _steps, _statuses) as d (workflow_id, step, status)
  where d.status <> 'completed';
  if _of is null then
    return;
  end if;
  with recursive doomed as (
    select d.workflow_id, d.step collate "C" as step, false as is_below
    from unnest(_of, _steps) as d (workflow_id, step)
    union
    select c.workflow_id, c.step, true
    from doomed d
    cross join lateral (
      select s.workflow_id, s.step
      from taskq.workflow_edges e
      cross join lateral (
        select l.workflow_id, l.step from taskq.workflow_steps l
        where l.workflow_id = e.workflow_id and l.step = e.child and l.status = 'waiting' limit 1
      ) as s
      -- `between` and `limit`: as in taskq.meet_edges.
      where e.workflow_id = d.workflow_id and e.parent between d.step and d.step and e.on_death = 'cancel'
        and not e.is_met
      limit most
    ) as c
  )
  select array_agg(b.workflow_id), array_agg(b.step) into below_of, below
  from (select d.workflow_id, d.step from doomed d where d.is_below limit most) as b;
  if below is null then
    return;
  end if;
  perform taskq.cancel_steps(below_of, below, _ts, _each);
  if cardinality(below) = most then
    -- The next claim continues.
    perform taskq.ask_steps(_of, _steps, _ts + interval '1 microsecond');
  end if;
end
$$;
