-- Gives the free slots of these groups, whose mutexes the caller has, to their first waiting tasks, by priority and id.
-- Before that it takes back slots that no worker has claimed: from less urgent tasks that never started; where the
-- limit was lowered or the group stopped, also from those that wait for a retry; from expired tasks, which no claim
-- takes; and from those that wait for a retry although the order is relaxed (it was strict when they failed). See
-- taskq.attend_groups, which calls it, for _try_until.
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
-- A bitmap scan leaves dead entries of an index as they are, so each one reads them all again; others mark them as dead
-- [one strict group, 2,000 tasks: 295 to 332 -> 361 to 383 tasks/s].
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  unlimited constant integer := taskq.unlimited();
  -- A group gets its share, and asks again if it has more: so groups take turns. One with a limit gets up to ten in any
  -- case: mostly that is all of its slots.
  share constant integer := greatest(_most / greatest(cardinality(array_remove(_group_keys, '')), 1), 1);
  groups taskq.group_turn[];
  swapping taskq.group_turn[];
  -- Of all groups that have neither a rate nor a slot that no worker has claimed.
  free_slots bigint;
  any_has_rate boolean;
  any_may_swap boolean;
  any_expires boolean;
  any_is_ordered boolean;
  any_is_unordered boolean;
  any_orders_several boolean;
  taken bigint[];
  chosen bigint[];
  -- Chosen before their time.
  early bigint[];
  passed jsonb;
  written_tasks bigint;
  -- Some of them are available later than others.
  any_later boolean;
  any_foreign boolean;
  any_new_expires boolean;
  rate_ts timestamptz;
begin
  -- What most groups need and no more: for a claim of few tasks, starting an expression costs more than computing it.
  select array_agg(row(
      g.queue, g.key, l.most, l.most = unlimited, l.ordered, h.held, l.rate, l.burst,
      null, null, null, null, h.loose, null, null, null, null, null
    )::taskq.group_turn),
    sum(greatest(l.most::bigint - h.held, 0)), bool_or(l.rate is not null), bool_or(h.loose > 0),
    bool_or(h.any_expires), bool_or(l.ordered), bool_or(not l.ordered), bool_or(l.ordered and l.most > 1)
  into groups, free_slots, any_has_rate, any_may_swap, any_expires, any_is_ordered, any_is_unordered, any_orders_several
  from unnest(_group_queues, _group_keys) as g (queue, key)
  cross join lateral (
    select s.*, s.most < unlimited and s.is_strict as ordered from taskq.group_slots(g.queue, g.key, _ts) as s offset 0
  ) as l
  cross join lateral (
    -- A group without a limit needs no count, unless it has a rate.
    select (count(*) filter (where l.most < unlimited or t.lease_owner is null))::integer as held,
      (count(*) filter (where t.lease_owner is null))::integer as loose,
      bool_or(t.lease_owner is null and t.expires_at < 'infinity') as any_expires
    from taskq.slot_holders(g.queue, g.key) as t
    where l.most < unlimited or l.rate is not null
  ) as h;
  if any_has_rate then
    -- Not earlier than the previous claims with this mutex: what they used up would look further ahead than possible.
    rate_ts := greatest(_ts, clock_timestamp());
    groups := array(
      select jsonb_populate_record(g, jsonb_build_object(
        'most', case g.most when unlimited then coalesce(r.burst, unlimited) else g.most end,
        'allowed', r.slots, 'each_us', r.each_us, 'burst', r.burst, 'used_to', r.used_to, 'is_reset', r.is_reset
      ))
      from unnest(groups) as g
      left join lateral taskq.group_rate_left(g.queue, g.key, g.rate, g.burst, rate_ts) as r on true
    );
  end if;

  if any_may_swap then
    swapping := array(
      select jsonb_populate_record(g, jsonb_build_object('loose', h.loose))
      from unnest(groups) as g
      cross join lateral taskq.free_slots_of(g, share) as f
      cross join lateral (
        -- `last`: the least urgent one whose slot may be taken back.
        select max(array[t.priority, t.id]) as last, count(*) as loose,
          bool_or(t.gate = 'h' and (
            not taskq.may_start(t.expires_at, t.started_at, _ts)
            or (t.available_at > _ts and t.started_at is not null and not g.ordered)
          )) as has_idle
        from taskq.slot_holders(g.queue, g.key) as t
        where taskq.may_lose_slot(
          t.gate, t.lease_owner, t.started_at, t.available_at, g.held > g.most and not g.endless, g.ordered, _ts
        )
      ) as h
      left join lateral (
        -- The first one for which no slot is free. With more free slots than a turn gives out, none is taken back.
        select array[t.priority, t.id] as first from taskq.tasks t
        where t.queue || '' = g.queue and t.group_key = g.key and t.gate = 'w' and h.last is not null
          and f.slots < greatest(share, 10) and taskq.may_start(t.expires_at, t.started_at, _ts)
        order by t.priority, t.id
        offset f.slots limit 1
      ) as w on true
      where g.loose > 0 and h.last is not null and (h.has_idle or g.held > g.most or (w.first < h.last) is true)
    );
  end if;
  if cardinality(swapping) > 0 then
    -- Only what no worker has claimed; a concurrent claim either finds it blocked or holds its lock. What cannot start
    -- now comes first: it would stay, and its group would ask again without an end.
    taken := array(
      select l.id
      from unnest(swapping) as g
      cross join unnest('{h,s}'::"char"[]) as held (gate)
      cross join lateral (
        select t.id from taskq.tasks t
        where t.queue || '' = g.queue and t.group_key = g.key and t.gate = held.gate
          and taskq.may_lose_slot(
            held.gate, t.lease_owner, t.started_at, t.available_at, g.held > g.most and not g.endless, g.ordered, _ts
          )
        order by taskq.may_start(t.expires_at, t.started_at, _ts), t.available_at <= _ts, t.priority desc, t.id desc
        limit 1000
        for no key update skip locked
      ) as l
    );
    if _try_until is not null then
      select t.able, t.refused into taken, refused
      from taskq.try_gate(taken, 'w', cardinality(taken), _ts, _try_until) as t;
    end if;
    groups := array(
      select jsonb_populate_record(g, jsonb_build_object(
        'taken_back', l.slots, 'unused', l.unused, 'keeps', s.loose > coalesce(l.slots, 0)
      ))
      from unnest(groups) as g
      left join unnest(swapping) as s on s.queue = g.queue and s.key = g.key
      left join taskq.take_slots_back(taken, _ts) as l on l.queue = g.queue and l.group_key = g.key
    );
  end if;

  -- Lock, then write by id, in a statement of its own: so what is written is the version that was locked.
  if any_is_unordered then
    -- Each round chooses without those that the one before has sent back; any left are in the way of the next claim.
    for round in 1 .. 10 loop
      select array_agg(w.id) filter (where w.not_before <= _ts), array_agg(w.id) filter (where w.not_before > _ts)
      into chosen, early
      from unnest(groups) as g
      cross join lateral taskq.free_slots_of(g, share) as f
      cross join lateral (
        select t.id, t.not_before from taskq.tasks t
        where t.queue || '' = g.queue and t.group_key = g.key and t.gate = 'w'
          and taskq.may_start(t.expires_at, t.started_at, _ts)
        order by t.priority, t.id
        limit f.in_turn + case when _try_until is null or f.in_turn = 0 then 0 else 1000 end
        for no key update skip locked
      ) as w
      where not g.ordered;
      exit when early is null;
      -- Left over from when their group kept its order: they wait for their time first.
      if _try_until is not null then
        select t.able, t.refused into early, passed
        from taskq.try_gate(early, 'd', cardinality(early), _ts, _try_until) as t;
        refused := nullif(coalesce(refused, '[]') || coalesce(passed, '[]'), '[]');
        exit when cardinality(early) = 0;
      end if;
      with delayed as (
        update taskq.tasks t set gate = 'd' where t.id = any (early)
        returning t.id, t.queue, t.group_key, t.not_before
      )
      insert into taskq.asks (due_at, queue, key, task_id)
      select d.not_before, d.queue, d.group_key, d.id from delayed d;
    end loop;
    chosen := coalesce(chosen, array[]::bigint[]);
  end if;
  if any_is_ordered then
    chosen := chosen || array(
      select w.id
      from unnest(groups) as g
      cross join lateral taskq.free_slots_of(g, share) as f
      cross join lateral (
        select first.id, bool_and(l.is_locked is not null) over (order by first.priority, first.id) as is_next
        from (
          select t.priority, t.id from taskq.tasks t
          where t.queue || '' = g.queue and t.group_key = g.key and t.gate = 'w'
            and taskq.may_start(t.expires_at, t.started_at, _ts)
          order by t.priority, t.id
          limit f.in_turn + case when _try_until is null or f.in_turn = 0 then 0 else 1000 end
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
    select t.able, t.refused into chosen, passed
    from taskq.try_gate(
      chosen, 'h', (select f.in_turn from taskq.free_slots_of(groups[1], share) as f), _ts, _try_until
    ) as t;
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
    returning t.available_at, t.type <> all (_types) as is_foreign,
      t.expires_at < 'infinity' and t.started_at is null as may_expire
  )
  select count(*), min(w.available_at) < max(w.available_at), bool_or(w.is_foreign), bool_or(w.may_expire)
  into written_tasks, any_later, any_foreign, any_new_expires
  from written w;

  -- In strict order, no task with a slot may become due before one ahead of it.
  if any_orders_several and (any_may_swap or any_later) then
    update taskq.tasks t set available_at = p.available_at
    from (
      select h.id,
        max(h.available_at) over (partition by h.queue, h.group_key order by h.priority, h.id) as available_at
      from unnest(groups) as g
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
  -- others have locked these tasks, or in five, because they are refused. So does one of whose slots some could not be
  -- taken back: taskq.find_out_of_turn relies on it.
  if any_has_rate or cardinality(swapping) > 0 or written_tasks < free_slots then
    insert into taskq.asks (due_at, slots, queue, key)
    select case
        when has.more then _ts
        when _try_until is null then _ts + interval '1 second'
        else _ts + interval '5 seconds'
      end, case when has.more then greatest(f.slots - coalesce(o.tasks, 0), 1) else 1 end, g.queue, g.key
    from unnest(groups) as g
    cross join lateral taskq.free_slots_of(g, share) as f
    left join (
      select t.queue, t.group_key, count(*) as tasks from taskq.tasks t
      where t.id = any (chosen) and t.gate = 'h' group by 1, 2
    ) as o on o.queue = g.queue and o.group_key = g.key
    cross join lateral (
      select g.taken_back = 1000 or (coalesce(o.tasks, 0) = f.in_turn and g.keeps is not true) as more
    ) as has
    where g.taken_back = 1000 or g.keeps or (coalesce(o.tasks, 0) < f.slots and (
      select true from taskq.tasks t
      where t.queue || '' = g.queue and t.group_key = g.key and t.gate = 'w'
        and taskq.may_start(t.expires_at, t.started_at, _ts)
      limit 1
    ));
  end if;

  -- A task may expire with its slot, if no claim takes it, or if it is given back: a group whose slots are limited is
  -- looked at when the first one does. So it has one such ask, not one for each task.
  if any_expires or any_new_expires then
    insert into taskq.asks (due_at, queue, key)
    select e.due_at, g.queue, g.key
    from unnest(groups) as g
    cross join lateral (
      select min(t.expires_at) as due_at from taskq.slot_holders(g.queue, g.key) as t
      where (not g.endless or g.rate is not null)
        and t.lease_owner is null and t.started_at is null and t.expires_at > _ts and t.expires_at < 'infinity'
    ) as e
    where e.due_at is not null and not exists (
      select from taskq.asks a
      where a.queue || '' = g.queue and a.key = g.key and a.due_at between _ts and e.due_at and a.task_id is null
    );
  end if;

  if any_has_rate then
    perform taskq.spend_group_rates(groups, chosen, share, rate_ts);
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
