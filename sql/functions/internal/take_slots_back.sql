-- Takes back the slots of these tasks, which the caller has locked: they wait for another slot, after their due time if
-- that is in the future. But in a group that keeps its order, one that waits for a retry keeps its turn: it waits for a
-- slot now rather than at its time, and waits for its time in that slot, so no later task of its group passes it.
-- Returns how many slots of each group it took, and how many of those from tasks that never started.
create or replace function taskq.take_slots_back(_ids bigint[], _ts timestamptz)
returns table (queue text, group_key text, slots integer, unused integer)
language sql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
as $$
  with loosened as (
    update taskq.tasks t
    set gate = case
        when t.available_at <= _ts then 'w'
        when t.gate in ('h', 's') and t.started_at is not null
          and taskq.keeps_order(t.queue, t.group_key)
        then 'w'
        else 'd'
      end::"char",
      status = 'blocked',
      available_at = 'infinity', not_before = case when t.available_at > _ts then t.available_at else t.not_before end,
      -- As in taskq.free_slots.
      expires_at = case
        when t.available_at > _ts then taskq.shifted(t.expires_at, t.not_before, t.available_at)
        else t.expires_at
      end
    where t.id = any (_ids)
    returning t.id, t.queue, t.group_key, t.gate, t.not_before, t.started_at
  ),
  later as (
    insert into taskq.asks (due_at, queue, key, task_id)
    select l.not_before, l.queue, l.group_key, l.id from loosened l where l.gate = 'd'
  )
  select l.queue, l.group_key, count(*)::integer, (count(*) filter (where l.started_at is null))::integer
  from loosened l group by l.queue, l.group_key
$$;
