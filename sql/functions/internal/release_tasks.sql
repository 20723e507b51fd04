-- Makes the tasks of these steps (parallel arrays), which the caller has locked, wait for their own time, or for a slot
-- of their group. Wakes workers for those of groups; see taskq.wake_released for the others.
create or replace function taskq.release_tasks(_of bigint[], _steps text[], _ids bigint[])
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
  ts timestamptz := clock_timestamp();
  grouped bigint[];
begin
  update taskq.tasks t
  set gate = taskq.first_gate(t.group_key, t.not_before, ts),
    status = case when t.group_key is null then 'pending'::taskq.task_status else 'blocked'::taskq.task_status end,
    available_at = case when t.group_key is null then greatest(t.not_before, ts) else 'infinity'::timestamptz end
  where t.id = any (_ids) and t.gate = 'p';
  with released as (
    update taskq.workflow_steps s set status = 'released'
    from unnest(_of, _steps) as r (workflow_id, step)
    where s.workflow_id = r.workflow_id and s.step = r.step
    returning s.workflow_id
  )
  update taskq.workflows w set waiting_steps = w.waiting_steps - r.number
  from (select released.workflow_id, count(*) as number from released group by 1) as r
  where w.id = r.workflow_id;
  grouped := array(select t.id from taskq.tasks t where t.id = any (_ids) and t.group_key is not null);
  if cardinality(grouped) > 0 then
    perform taskq.ask_for(grouped, ts);
  end if;
end
$$;
