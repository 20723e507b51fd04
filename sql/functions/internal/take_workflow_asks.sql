-- Deletes the due asks of these workflows, 2,000 of each at most, and returns their contents, in arrays: what to add to
-- the counters of each workflow, whether a step has ended (which the sum of the counters need not show), and the steps
-- to look at (each once; null: none).
create or replace function taskq.take_workflow_asks(
  _ids bigint[], _from timestamptz, _ts timestamptz, out of_workflow bigint[], out added integer[],
  out live integer[], out waiting integer[], out deaths integer[], out have_ended boolean[], out step_of bigint[],
  out steps text[]
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
  with taken as (
    delete from taskq.workflow_asks d
    where d.ctid = any (array(
      select l.row_at
      from unnest(_ids) as w (id)
      cross join lateral (
        select a.ctid as row_at from taskq.workflow_asks a
        where a.workflow_id = w.id and a.due_at >= _from and a.due_at <= _ts
        order by a.due_at, a.id
        limit 2000
        for update skip locked
      ) as l
    ))
    returning d.workflow_id, d.added, d.live, d.waiting, d.deaths, d.steps
  ),
  summed as (
    select t.workflow_id, sum(t.added)::integer as added, sum(t.live)::integer as live,
      sum(t.waiting)::integer as waiting,
      sum(t.deaths)::integer as deaths, bool_or(t.live < 0) as has_ended
    from taken t group by t.workflow_id
  ),
  named as (
    select distinct t.workflow_id, s.step from taken t cross join lateral unnest(t.steps) as s (step)
  )
  select a.of_workflow, a.added, a.live, a.waiting, a.deaths, a.have_ended, n.step_of, n.steps
  into of_workflow, added, live, waiting, deaths, have_ended, step_of, steps
  from (
    select array_agg(s.workflow_id) as of_workflow, array_agg(s.added) as added, array_agg(s.live) as live,
      array_agg(s.waiting) as waiting, array_agg(s.deaths) as deaths, array_agg(s.has_ended) as have_ended
    from summed s
  ) as a
  cross join (select array_agg(n.workflow_id) as step_of, array_agg(n.step) as steps from named n) as n;
end
$$;
