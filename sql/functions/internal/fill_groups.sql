-- Gives the free slots of these groups, whose mutexes the caller has, to their first waiting tasks, by priority and id.
-- Before that it takes back slots that no worker has claimed: from less urgent tasks that never started, where the
-- limit was lowered or the group stopped, from expired tasks, which no claim takes, and from those that wait for a
-- retry although the order is relaxed (it was strict when they failed). See taskq.attend_groups, which calls it, for
-- _try_until.
--
-- One call gives out as many slots as its claim can take, or ten for each group with a limit if that is more, and takes
-- back a thousand of a group; a group with more of either asks again. So no claim takes long, however high the limit
-- and however many tasks wait.
--
-- A task that gets a slot is available at its own time or where the claim stands in its level (_cursor, by _queues),
-- whichever is later: now would put each successor of a group behind the whole backlog of its queue.
--
-- Where a group has a rate, each slot uses up its share of that, and one that is taken back before its task started
-- gives its share back. So in any time t at most rate * t + burst tasks of the group get a slot to start with. A group
-- without a limit may have `burst` slots that no worker has claimed: else those of hours without a free worker would
-- start at once. Where the rate is used up, the group asks again when it allows the next slot.
--
-- Under strict order, a task that another session has locked keeps its turn: those after it wait. Returns the tasks
-- that got slots (given), and those that the database refuses to write, as taskq.try_gate does (refused; null: none).
create or replace function taskq.fill_groups(
  _group_queues text[], _group_keys text[], _queues text[], _types text[], _cursor bigint[], _most integer,
  _ts timestamptz, _try_until timestamptz default null, out given bigint[], out refused jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  unlimited constant integer := 2147483647;
  -- A group gets its share, and asks again if it has more: so groups take turns. One with a limit gets up to ten in any
  -- case: mostly that is all of its slots.
  share constant integer := greatest(_most / greatest(cardinality(array_remove(_group_keys, '')), 1), 1);
  limits integer[];
  held integer[];
  -- Of those with a rate: how many slots it allows now, and the rest of taskq.group_rate_left. Null: they have none.
  allowed integer[];
  each_us numeric[];
  bursts integer[];
  used_to timestamptz[];
  reset boolean[];
  endless boolean[];
  swaps boolean[];
  ordered boolean[];
  taken bigint[];
  taken_back integer[];
  unused integer[];
  rooms integer[];
  slots integer[];
  free integer[];
  chosen bigint[];
  passed jsonb;
  got integer[];
  any_foreign boolean;
  any_expires boolean;
begin
  -- The slots of each group (0: it is stopped), and how many are given out; a group without a limit needs no count.
  select array_agg(s.most order by s.nth), array_agg(s.held order by s.nth), array_agg(s.swaps order by s.nth),
    array_agg(s.ordered order by s.nth), array_agg(s.slots order by s.nth), array_agg(s.each_us order by s.nth),
    array_agg(s.burst order by s.nth), array_agg(s.used_to order by s.nth), array_agg(s.is_reset order by s.nth),
    array_agg(s.endless order by s.nth)
  into limits, held, swaps, ordered, allowed, each_us, bursts, used_to, reset, endless
  from (
    select g.nth, m.most, h.held, m.ordered, r.slots, r.each_us, r.burst, r.used_to, r.is_reset,
      l.most = unlimited as endless,
      h.last is not null and (h.has_idle or h.held > m.most or (w.first < h.last) is true) as swaps
    from unnest(_group_queues, _group_keys) with ordinality as g (queue, key, nth)
    cross join lateral taskq.group_slots(g.queue, g.key, _ts) as l
    cross join lateral taskq.is_strict(g.queue) as o (is_strict)
    left join lateral taskq.group_rate_left(g.queue, g.key, l.rate, l.burst, _ts) as r on true
    cross join lateral (
      select case l.most when unlimited then coalesce(r.burst, unlimited) else l.most end as most,
        l.most < unlimited and o.is_strict as ordered
    ) as m
    cross join lateral (
      -- `last`: the least urgent one whose slot may be taken back.
      select (count(*) filter (where l.most < unlimited or t.lease_owner is null))::integer as held,
        max(array[t.priority, t.id]) filter (
          where taskq.may_lose_slot(
            t.gate, t.lease_owner, t.started_at, t.available_at, l.most, m.ordered, _ts
          )
        ) as last,
        bool_or(t.gate = 'h' and t.lease_owner is null and (
          not taskq.may_start(t.expires_at, t.started_at, _ts)
          or (t.available_at > _ts and t.started_at is not null and not m.ordered)
        )) as has_idle
      from taskq.slot_holders(g.queue, g.key) as t
      where m.most < unlimited
    ) as h
    cross join lateral (
      select greatest(least(m.most - h.held, r.slots), 0) as slots
    ) as free
    left join lateral (
      -- The first one for which no slot is free. With more free slots than a turn gives out, none is taken back.
      select array[t.priority, t.id] as first from taskq.tasks t
      where t.queue || '' = g.queue and t.group_key = g.key and t.gate = 'w' and h.last is not null
        and free.slots < greatest(share, 10) and taskq.may_start(t.expires_at, t.started_at, _ts)
      order by t.priority, t.id
      offset free.slots limit 1
    ) as w on true
  ) as s;

  if true = any (swaps) then
    -- Only what no worker has claimed; a concurrent claim either finds it blocked or holds its lock. What cannot start
    -- now comes first: it would stay, and its group would ask again without an end.
    taken := array(
      select l.id
      from unnest(_group_queues, _group_keys, limits, swaps, ordered) as g (queue, key, most, swaps, ordered)
      cross join unnest('{h,s}'::"char"[]) as held (gate)
      cross join lateral (
        select t.id from taskq.tasks t
        where t.queue || '' = g.queue and t.group_key = g.key and t.gate = held.gate
          and taskq.may_lose_slot(
            held.gate, t.lease_owner, t.started_at, t.available_at, g.most, g.ordered, _ts
          )
        order by taskq.may_start(t.expires_at, t.started_at, _ts), t.available_at <= _ts, t.priority desc, t.id desc
        limit 1000
        for no key update skip locked
      ) as l
      where g.swaps
    );
    if _try_until is not null then
      select t.able, t.refused into taken, refused
      from taskq.try_gate(taken, 'w', cardinality(taken), _ts, _try_until) as t;
    end if;
    select array_agg(coalesce(l.slots, 0) order by g.nth), array_agg(coalesce(l.unused, 0) order by g.nth)
    into taken_back, unused
    from unnest(_group_queues, _group_keys) with ordinality as g (queue, key, nth)
    left join taskq.take_slots_back(taken, _ts) as l on l.queue = g.queue and l.group_key = g.key;
  end if;

  select array_agg(l.room order by l.nth), array_agg(l.slots order by l.nth),
    array_agg(least(l.slots, case l.most when unlimited then share else greatest(share, 10) end) order by l.nth)
  into rooms, slots, free
  from (
    select g.most, g.nth, r.room, least(r.room, g.allowed + coalesce(g.unused, 0), g.burst) as slots
    from unnest(limits, held, taken_back, allowed, unused, bursts)
      with ordinality as g (most, held, taken_back, allowed, unused, burst, nth)
    cross join lateral (select greatest(g.most - g.held + coalesce(g.taken_back, 0), 0) as room) as r
  ) as l;
  -- Lock, then write by id, in a statement of its own: so what is written is the version that was locked.
  chosen := array(
    select w.id
    from unnest(_group_queues, _group_keys, free, ordered) as g (queue, key, free, ordered)
    cross join lateral (
      select t.id from taskq.tasks t
      where t.queue || '' = g.queue and t.group_key = g.key and t.gate = 'w'
        and taskq.may_start(t.expires_at, t.started_at, _ts)
      order by t.priority, t.id
      limit g.free + case when _try_until is null or g.free = 0 then 0 else 1000 end
      for no key update skip locked
    ) as w
    where not g.ordered
  );
  if true = any (ordered) then
    chosen := chosen || array(
      select w.id
      from unnest(_group_queues, _group_keys, free, ordered) as g (queue, key, free, ordered)
      cross join lateral (
        select first.id, bool_and(l.is_locked is not null) over (order by first.priority, first.id) as is_next
        from (
          select t.priority, t.id from taskq.tasks t
          where t.queue || '' = g.queue and t.group_key = g.key and t.gate = 'w'
            and taskq.may_start(t.expires_at, t.started_at, _ts)
          order by t.priority, t.id
          limit g.free + case when _try_until is null or g.free = 0 then 0 else 1000 end
        ) as first
        left join lateral (
          -- All of these are looked at again once it is locked: since the snapshot it may have been moved to the same
          -- group of another queue, whose mutex is another's.
          select true as is_locked from taskq.tasks t
          where t.id = first.id and t.gate = 'w' and t.queue || '' = g.queue and t.group_key = g.key
            and t.priority = first.priority
          limit 1
          for no key update skip locked
        ) as l on true
      ) as w
      where g.ordered and w.is_next
    );
  end if;
  if _try_until is not null then
    select t.able, t.refused into chosen, passed from taskq.try_gate(chosen, 'h', free[1], _ts, _try_until) as t;
    refused := nullif(coalesce(refused, '[]') || coalesce(passed, '[]'), '[]');
  end if;
  with written as (
    update taskq.tasks t
    set gate = 'h', status = 'pending', available_at = greatest(
      t.not_before,
      case
        when taskq.cursor_at(_cursor, array_position(_queues, t.queue), t.priority) < _ts
        then taskq.cursor_at(_cursor, array_position(_queues, t.queue), t.priority) + interval '1 microsecond'
        -- A level that the claim has not been in, or reads from its beginning: where other claims look back to.
        else _ts - interval '1 second'
      end
    )
    where t.id = any (chosen)
    returning t.queue, t.group_key, t.type <> all (_types) as is_foreign,
      t.expires_at < 'infinity' and t.started_at is null as may_expire
  )
  select array_agg(coalesce(c.got, 0) order by g.nth), bool_or(c.is_foreign), bool_or(c.may_expire)
  into got, any_foreign, any_expires
  from unnest(_group_queues, _group_keys) with ordinality as g (queue, key, nth)
  left join (
    select w.queue, w.group_key, count(*)::integer as got, bool_or(w.is_foreign) as is_foreign,
      bool_or(w.may_expire) as may_expire
    from written w group by 1, 2
  ) as c on c.queue = g.queue and c.group_key = g.key;

  -- In strict order, no task with a slot may become due before one ahead of it.
  if true = any (ordered)
    and exists (select from unnest(limits, ordered) as g (most, ordered) where g.ordered and g.most > 1) then
    update taskq.tasks t set available_at = p.available_at
    from (
      select h.id,
        max(h.available_at) over (partition by h.queue, h.group_key order by h.priority, h.id) as available_at
      from unnest(_group_queues, _group_keys, limits, ordered) as g (queue, key, most, ordered)
      cross join lateral (
        select l.id, l.queue, l.group_key, l.priority, l.available_at from taskq.tasks l
        where l.queue || '' = g.queue and l.group_key = g.key and l.gate = 'h' and l.lease_owner is null
          and l.started_at is null and l.available_at <= _ts
        offset 0
      ) as h
      where g.ordered and g.most > 1
    ) as p
    where t.id = p.id and t.id = any (chosen) and t.available_at < p.available_at;
  end if;

  -- A group with free slots and waiting tasks asks again: at once if its share was too small, else in a second, because
  -- others have locked these tasks, or in five, because they are refused. So does one whose slots could not be taken
  -- back.
  insert into taskq.asks (due_at, queue, key)
  select case
      when g.taken_back = 1000 or (g.got = g.free and not g.is_kept) then _ts
      when _try_until is null then _ts + interval '1 second'
      else _ts + interval '5 seconds'
    end, g.queue, g.key
  from (
    select a.*, a.swaps and coalesce(a.taken_back, 0) = 0 as is_kept
    from unnest(_group_queues, _group_keys, slots, got, free, swaps, taken_back)
      as a (queue, key, slots, got, free, swaps, taken_back)
  ) as g
  where g.taken_back = 1000 or g.is_kept or (g.got < g.slots and (
    select true from taskq.tasks t
    where t.queue || '' = g.queue and t.group_key = g.key and t.gate = 'w'
      and taskq.may_start(t.expires_at, t.started_at, _ts)
    limit 1
  ));

  -- A task may expire with its slot, if no claim takes it, or if it is given back: its group is looked at then.
  if any_expires then
    insert into taskq.asks (due_at, queue, key)
    select distinct t.expires_at, t.queue, t.group_key from taskq.tasks t
    where t.id = any (chosen) and t.expires_at < 'infinity' and t.started_at is null;
  end if;

  if num_nonnulls(variadic each_us) > 0 then
    perform taskq.spend_group_rates(
      _group_queues, _group_keys, used_to, reset, each_us, bursts, unused, got, rooms, slots, endless, _ts
    );
  end if;

  -- Wake other workers for the tasks this claim will not take.
  if any_foreign or cardinality(chosen) > _most then
    perform taskq.wake(h.queue, h.due)
    from (
      select t.queue, min(t.available_at) as due from taskq.tasks t
      where t.id = any (chosen) and (cardinality(chosen) > _most or t.type <> all (_types))
      group by t.queue
    ) as h;
  end if;
  given := chosen;
end
$$;
