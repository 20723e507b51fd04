-- Locks the rows that the ends of these tasks are noted in, those of their steps (see taskq.note_steps), and returns
-- the tasks whose row others have locked (null: none): they cannot end now, as if their own row was locked. Waits for
-- nothing. Call it before writing anything for an end.
create or replace function taskq.lock_steps(_ids bigint[])
returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set enable_nestloop = on
-- Every join here looks up a row by its key.
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan
as $$
declare
  busy bigint[];
begin
  select array_agg(t.id) filter (where s.is_locked is null and (
    select true from taskq.workflow_steps l
    where l.workflow_id = t.workflow_id and l.step = t.step and l.task_id = t.id
      and l.status in ('waiting', 'released')
    limit 1
  ))
  into busy
  from unnest(_ids) as e (id)
  -- Not `workflow_id is not null`: as in taskq.note_steps.
  cross join lateral (select l.id, l.workflow_id, l.step from taskq.tasks l where l.id = e.id limit 1) as t
  left join lateral (
    select true as is_locked from taskq.workflow_steps l
    where l.workflow_id = t.workflow_id and l.step = t.step and l.task_id = t.id
      and l.status in ('waiting', 'released')
    limit 1
    for no key update skip locked
  ) as s on true;
  return busy;
end
$$;
