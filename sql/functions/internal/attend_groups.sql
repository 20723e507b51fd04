-- Attends to these asks, read by taskq.attend, of groups whose mutexes it has: deletes them, wakes the tasks whose time
-- has come, and gives out slots. Returns the tasks that got one (given). Fails as a whole if the database refuses to
-- write one of the tasks, unless it tries each alone (_try_until is not null; the asks are those of one group then): it
-- passes those that are refused (see taskq.try_gate), and they are tried again in 5 s.
create or replace function taskq.attend_groups(
  _asks taskq.asks[], _queues text[], _types text[], _cursor bigint[], _most integer, _ts timestamptz,
  _try_until timestamptz default null, out given bigint[], out refused jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
-- As in taskq.fill_groups.
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  woken bigint[];
  able bigint[];
  unable jsonb;
  group_queues text[];
  group_keys text[];
begin
  -- One ask is what a claim finds most often, and mostly that of a group.
  if cardinality(_asks) > 1 or _asks[1].task_id is not null then
    woken := array(
      select t.id
      from (select a.task_id from unnest(_asks) as a where a.task_id is not null order by a.task_id) as a
      cross join lateral (
        select l.id from taskq.tasks l where l.id = a.task_id and l.gate = 'd' limit 1 for no key update skip locked
      ) as t
    );
  end if;
  -- Keep the ask of a task that others have locked. An ask that is itself locked stays too, but its group gets its turn
  -- now: the cursors of claims pass the ask, and only a sweep would come back to it.
  with present as (
    select a.queue, a.key, a.task_id
    from unnest(_asks) as a
    cross join lateral (
      select from taskq.asks o where o.queue = a.queue and o.due_at = a.due_at and o.id = a.id limit 1
    ) as l
  ),
  attended as (
    delete from taskq.asks d
    where d.ctid = any (array(
      select l.row_at
      from unnest(_asks) as a
      cross join lateral (
        select o.ctid as row_at from taskq.asks o
        where o.queue = a.queue and o.due_at = a.due_at and o.id = a.id
        limit 1
        for update skip locked
      ) as l
      where a.task_id is null or a.task_id = any (woken)
        or (select true from taskq.tasks t where t.id = a.task_id and t.gate = 'd' limit 1) is null
    ))
    returning d.queue, d.key
  )
  select array_agg(g.queue), array_agg(g.key) into group_queues, group_keys
  from (
    select attended.queue, attended.key from attended
    union select p.queue, p.key from present p where p.task_id is null
    order by 1, 2
  ) as g;
  if group_queues is null then
    return;
  end if;

  if cardinality(woken) > 0 then
    if _try_until is not null then
      select t.able, t.refused into able, unable
      from taskq.try_gate(woken, 'w', cardinality(woken), _ts, _try_until) as t;
      insert into taskq.asks (due_at, queue, key, task_id)
      select _ts + interval '5 s', t.queue, t.group_key, t.id
      from taskq.tasks t where t.id = any (woken) and t.id <> all (able);
      woken := able;
    end if;
    -- Its time may have been put off since it asked, or its queue or group been changed by hand.
    insert into taskq.asks (due_at, queue, key, task_id)
    select greatest(t.not_before, _ts), t.queue, t.group_key, case when t.not_before > _ts then t.id end
    from taskq.tasks t
    where t.id = any (woken) and t.group_key is not null and (t.not_before > _ts or not exists (
      select from unnest(group_queues, group_keys) as g (queue, key)
      where g.queue = t.queue and g.key = t.group_key
    ));
    update taskq.tasks t set gate = 'w' where t.id = any (woken) and t.not_before <= _ts;
  end if;
  -- An ask of a whole queue (key ''), after a change of its settings: each of its groups asks.
  if array_position(group_keys, '') is not null then
    perform taskq.ask_groups(q.name, q.after, _ts)
    from (
      select a.queue as name, min(coalesce(a.after, '')) as after
      from unnest(_asks) as a
      where a.key = ''
      group by a.queue
    ) as q;
  end if;
  -- Tasks whose time is the same wake together: where order counts, a group gives out no slot before it has attended to
  -- all of them. Its asks that are left bring it another turn.
  if cardinality(_asks) >= 1000 then
    select array_agg(g.queue), array_agg(g.key) into group_queues, group_keys
    from unnest(group_queues, group_keys) as g (queue, key)
    left join (
      select distinct on (a.queue, a.key) a.queue, a.key, a.due_at, a.id from unnest(_asks) as a
      where a.task_id is not null
      order by a.queue, a.key, a.due_at desc, a.id desc
    ) as last on last.queue = g.queue and last.key = g.key
    cross join lateral taskq.group_slots(g.queue, g.key, _ts) as l
    where not l.is_strict or l.most = taskq.unlimited() or last.id is null or not exists (
      select from taskq.asks later
      where later.queue || '' = g.queue and later.key = g.key and later.due_at = last.due_at and later.id > last.id
        and later.task_id is not null
    );
    if group_queues is null then
      refused := unable;
      return;
    end if;
  end if;
  select f.given, f.refused into given, refused
  from taskq.fill_groups(group_queues, group_keys, _queues, _types, _cursor, _most, _ts, _try_until) as f;
  refused := nullif(coalesce(unable, '[]') || coalesce(refused, '[]'), '[]');
end
$$;
