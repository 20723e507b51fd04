-- Returns the rows, chosen and locked by a claim, that it must not take although they have a slot, because
-- * their group is stopped,
-- * their group keeps its order, and a task that comes first waits, committed after the slot was given, or
-- * their group has a lower limit now, and the slot is beyond it.
--
-- _given: the tasks whose slots this claim has given out itself, under the mutex of their group. Null: there are none.
--
-- It checks only groups with an ask, due now or later: whatever could make a slot wrong leaves an ask, and so does
-- taskq.fill_groups if it cannot take a slot back [37 us a task when it checked all]. The exception is a task that
-- stopped its group and kept its slot until its time: it is always checked. And it reads the waiting tasks, not the
-- asks: the asks of a group may be anywhere in a long list. So a claim never overtakes a task that was committed before
-- it began, whatever the claim attends to.
create or replace function taskq.find_out_of_turn(_chosen tid[], _given bigint[], _ts timestamptz)
returns tid[]
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- As in taskq.fill_groups.
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
begin
  return (
    select array_agg(s.row_at)
    from (
      select t.queue, t.group_key, array_agg(t.ctid) as rows_at, array_agg(t.priority) as priorities,
        array_agg(t.id) as ids, array_agg(t.started_at) as starts, bool_or(t.gate = 's') as any_stopped
      from taskq.tasks t
      -- One that was taken out of its group by hand is an ordinary row.
      where t.ctid = any (_chosen) and t.gate in ('h', 's') and t.group_key is not null
        -- Hashed: in time proportional to both.
        and t.id not in (select g.id from unnest(_given) as g (id))
      group by t.queue, t.group_key
    ) as g
    cross join lateral (
      select where g.any_stopped
      union all
      select from taskq.asks a where a.queue || '' = g.queue and a.key = g.group_key
      union all
      -- An ask of the whole queue, after a change of its settings.
      select from taskq.asks a where a.queue || '' = g.queue and a.key = ''
      limit 1
    ) as asked
    cross join lateral taskq.group_slots(g.queue, g.group_key, _ts) as l
    left join lateral (
      select t.priority, t.id from taskq.tasks t
      where l.most > 0 and l.most < taskq.unlimited() and l.is_strict
        and t.queue || '' = g.queue and t.group_key = g.group_key and t.gate = 'w'
        and taskq.may_start(t.expires_at, t.started_at, _ts)
      order by t.priority, t.id
      limit 1
    ) as first on true
    left join lateral (
      select count(*) as tasks, count(*) filter (where h.lease_owner is not null) as claimed
      from taskq.slot_holders(g.queue, g.group_key) as h
      where l.most < taskq.unlimited() and (h.lease_owner is not null or h.started_at is not null)
    ) as begun on true
    cross join lateral (
      select u.*, row_number() over (partition by u.started_at is null order by u.priority, u.id) as nth
      from unnest(g.rows_at, g.priorities, g.ids, g.starts) as u (row_at, priority, id, started_at)
    ) as s
    where l.most = 0 or (
      s.started_at is null
      and (
        (first.priority, first.id) < (s.priority, s.id)
        or (l.most < taskq.unlimited() and s.nth > l.most - begun.tasks)
      )
    )
    -- One that waited for a retry while the limit was lowered.
    or (s.started_at is not null and l.most < taskq.unlimited() and s.nth > l.most - begun.claimed)
  );
end
$$;
