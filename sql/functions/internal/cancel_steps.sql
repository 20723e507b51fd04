-- Cancels these waiting steps (parallel arrays) because of the death of a parent, which it notes in each
-- (cancelled_by). Leaves asks for those that others have locked, in 50 ms, by the name of that parent, and for those
-- that the database refuses (_each), in 5 s. Those whose tasks were deleted by hand end too.
create or replace function taskq.cancel_steps(_of bigint[], _steps text[], _ts timestamptz, _each boolean)
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
  locked_of bigint[];
  locked text[];
  ids bigint[];
  missed_of bigint[];
  missed text[];
  lost_of bigint[];
  lost text[];
  refused bigint[] := array[]::bigint[];
  again_of bigint[];
  again text[];
begin
  select array_agg(c.workflow_id) filter (where t.id is not null), array_agg(c.step) filter (where t.id is not null),
    array_agg(t.id) filter (where t.id is not null),
    array_agg(c.workflow_id) filter (where t.id is null and not l.is_lost),
    array_agg(c.step) filter (where t.id is null and not l.is_lost),
    array_agg(c.workflow_id) filter (where l.is_lost), array_agg(c.step) filter (where l.is_lost)
  into locked_of, locked, ids, missed_of, missed, lost_of, lost
  from (select * from unnest(_of, _steps) as c (workflow_id, step) order by c.workflow_id, c.step) as c
  left join lateral (
    select l.task_id from taskq.workflow_steps l
    where l.workflow_id = c.workflow_id and l.step = c.step and l.status = 'waiting'
    limit 1
    for no key update skip locked
  ) as s on true
  left join lateral (
    select l.id from taskq.tasks l where l.id = s.task_id limit 1 for update skip locked
  ) as t on true
  left join lateral (
    select s.task_id is not null
      and (select l.id from taskq.tasks l where l.id = s.task_id limit 1) is null as is_lost
  ) as l on true;

  -- A mark, before they end: their deaths are not counted as their own (taskq.note_steps).
  update taskq.workflow_steps s set cancelled_by = ''
  from unnest(locked_of || lost_of, locked || lost) as c (workflow_id, step)
  where s.workflow_id = c.workflow_id and s.step = c.step;
  if lost is not null then
    perform taskq.end_lost_steps(lost_of, lost, _ts);
  end if;
  if ids is not null then
    refused := taskq.cancel_waiting(ids, 'a parent of the step has died', _ts, _each);
  end if;

  -- Blame the first dead parent, by name: known only now, because this call has also cancelled some.
  with blamed as materialized (
    select c.workflow_id, c.step, c.id = any (refused) as is_refused, c.is_missed, by.parent
    from (
      select *, false as is_missed
      from unnest(locked_of || lost_of, locked || lost, ids) as c (workflow_id, step, id)
      union all
      select *, null, true from unnest(missed_of, missed) as c (workflow_id, step)
    ) as c
    cross join lateral (
      select e.parent
      from taskq.workflow_edges e
      cross join lateral (
        select l.status from taskq.workflow_steps l
        where l.workflow_id = e.workflow_id and l.step = e.parent limit 1
      ) as p
      -- `between`: as in taskq.meet_edges.
      where e.workflow_id = c.workflow_id and e.child between c.step and c.step and e.on_death = 'cancel'
        and not e.is_met
      order by p.status in ('dead', 'cancelled', 'expired') desc, e.parent
      limit 1
    ) as by
  ),
  noted as (
    update taskq.workflow_steps s set cancelled_by = case when b.is_refused then null else b.parent end
    from blamed b
    where s.workflow_id = b.workflow_id and s.step = b.step and not b.is_missed
  )
  select array_agg(b.workflow_id) filter (where b.is_missed), array_agg(b.parent) filter (where b.is_missed),
    array_agg(b.workflow_id) filter (where b.is_refused), array_agg(b.parent) filter (where b.is_refused)
  into missed_of, missed, again_of, again
  from blamed b;
  if missed is not null then
    perform taskq.ask_steps(missed_of, missed, clock_timestamp() + interval '50 ms');
  end if;
  if again is not null then
    perform taskq.ask_steps(again_of, again, _ts + interval '5 s');
  end if;
end
$$;
