-- Decides about the slots of grouped tasks that an outcome has just put back, under locks of the caller: under strict
-- order they keep them while they wait, so that no later task of the group passes; under relaxed order they give them
-- up, and wait for their time and then for another one. _stopping: those that stop their group until their time, and
-- keep the slot. One that was taken out of its group by hand is an ordinary task from now on.
create or replace function taskq.free_slots(_ids bigint[], _stopping bigint[], _ts timestamptz)
returns void
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
declare
  freed bigint[];
  hint record;
begin
  update taskq.tasks t
  set gate = case when t.group_key is null then null when t.id = any (_stopping) then 's' else 'h' end::"char"
  where t.id = any (_ids) and t.gate in ('h', 's')
    and (t.group_key is null or (t.gate = 's') <> (t.id = any (_stopping)));
  with freed as (
    update taskq.tasks t
    set gate = 'd', status = 'blocked', available_at = 'infinity', not_before = t.available_at,
      -- What a rerun computes from the two stays as it was; a task that has started does not expire.
      expires_at = taskq.shifted(t.expires_at, t.not_before, t.available_at)
    where t.id = any (_ids) and t.gate = 'h'
      and (select q.group_order from taskq.queues q where q.name = t.queue) = 'relaxed'
    returning t.id, t.queue, t.group_key
  ),
  asked as (
    -- Also if one keeps its slot: its group may have been stopped while it ran, and if it stops the group itself,
    -- others give up slots of unstarted tasks.
    insert into taskq.asks (due_at, queue, key)
    select distinct _ts, t.queue, t.group_key from taskq.tasks t where t.id = any (_ids) and t.gate in ('h', 's')
    union all
    -- The group that it stops starts again when its time has come.
    select t.available_at, t.queue, t.group_key
    from taskq.tasks t where t.id = any (_ids) and t.id = any (_stopping) and t.gate = 's'
  )
  select array_agg(f.id) into freed from freed f;
  perform taskq.ask_for(freed, _ts, false);
  for hint in select distinct t.queue from taskq.tasks t where t.id = any (freed || _stopping) loop
    perform taskq.wake(hint.queue, _ts);
  end loop;
end
$$;
