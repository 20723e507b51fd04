-- Releases these steps (parallel arrays), which no longer wait for a parent, except those of workflows that are being
-- cancelled (_stopping): from now on their tasks wait only for their own time, or for a slot of their group. Returns
-- the ids of these tasks, for taskq.wake_released. Leaves an ask for a step whose task or row others have locked, in 50
-- ms, and for one that the database refuses (_each), in 5 s. One whose task was deleted by hand ends.
create or replace function taskq.release_steps(
  _of bigint[], _steps text[], _stopping bigint[], _ts timestamptz, _each boolean
)
returns bigint[]
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
  free_of bigint[];
  free text[];
  ids bigint[];
  missed_of bigint[];
  missed text[];
  lost_of bigint[];
  lost text[];
begin
  select array_agg(w.workflow_id) filter (where t.id is not null), array_agg(w.step) filter (where t.id is not null),
    array_agg(t.id) filter (where t.id is not null),
    array_agg(w.workflow_id) filter (where t.id is null and not l.is_lost),
    array_agg(w.step) filter (where t.id is null and not l.is_lost),
    array_agg(w.workflow_id) filter (where l.is_lost), array_agg(w.step) filter (where l.is_lost)
  into free_of, free, ids, missed_of, missed, lost_of, lost
  from (
    select distinct s.workflow_id, s.step from unnest(_of, _steps) as s (workflow_id, step)
    where s.workflow_id <> all (_stopping)
  ) as w
  left join lateral (
    select l.task_id from taskq.workflow_steps l
    where l.workflow_id = w.workflow_id and l.step = w.step and l.status = 'waiting' and l.parents_left <= 0
    limit 1
    for no key update skip locked
  ) as s on true
  left join lateral (
    select l.id from taskq.tasks l where l.id = s.task_id limit 1 for no key update skip locked
  ) as t on true
  left join lateral (
    select s.task_id is not null
      and (select l.id from taskq.tasks l where l.id = s.task_id limit 1) is null as is_lost
  ) as l on true;

  if missed is not null then
    perform taskq.ask_steps(missed_of, missed, clock_timestamp() + interval '50 ms');
  end if;
  if lost is not null then
    perform taskq.end_lost_steps(lost_of, lost, _ts);
  end if;
  if not _each then
    perform taskq.release_tasks(free_of, free, ids);
    return ids;
  end if;
  for nth in 1 .. coalesce(cardinality(ids), 0) loop
    begin
      perform taskq.release_tasks(free_of[nth : nth], free[nth : nth], ids[nth : nth]);
      set constraints all immediate;
    exception when others then
      if taskq.is_server_fault(sqlstate) then
        raise;
      end if;
      -- No claim reports this, so log it on the server.
      raise warning 'taskq does not release step % of workflow %: % (%)', quote_literal(free[nth]), free_of[nth],
        sqlerrm, sqlstate;
      perform taskq.ask_steps(free_of[nth : nth], free[nth : nth], _ts + interval '5 s');
    end;
  end loop;
  return ids;
end
$$;
