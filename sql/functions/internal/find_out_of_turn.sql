-- Finds those of these rows, chosen and locked by a claim, that it must not take, although they have a slot: their
-- group is stopped, or has a strict order and a task that comes first waits, committed after the slot was given.
-- _given: the tasks whose slots this claim has given out itself, under the mutex of their group. Null: there are none.
--
-- It reads the tasks that wait, not the asks: those of a group may be anywhere in a long list. So what was committed
-- before a claim began is never overtaken by it, whatever the claim attends to.
create or replace function taskq.find_out_of_turn(_chosen tid[], _given bigint[], _ts timestamptz)
returns tid[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
declare
  slots tid[];
begin
  select array_agg(t.ctid) into slots
  from unnest(_chosen) as c (row_at)
  join taskq.tasks t on t.ctid = c.row_at
  where t.gate = 'h' and not exists (select from unnest(_given) as g (id) where g.id = t.id);
  return (
    select array_agg(t.ctid)
    from (
      select distinct t.queue, t.group_key from taskq.tasks t where t.ctid = any (slots)
    ) as g
    cross join lateral taskq.group_slots(g.queue, g.group_key, _ts) as l (most)
    left join lateral (
      select t.priority, t.id from taskq.tasks t
      where l.most between 1 and 2147483646 and taskq.is_strict(g.queue)
        and t.queue || '' = g.queue and t.group_key = g.group_key and t.gate = 'w'
        and taskq.may_start(t.expires_at, t.started_at, _ts)
      order by t.priority, t.id
      limit 1
    ) as first on true
    join taskq.tasks t on t.ctid = any (slots) and t.queue = g.queue and t.group_key = g.group_key
    where l.most = 0 or (t.started_at is null and (first.priority, first.id) < (t.priority, t.id))
  );
end
$$;
