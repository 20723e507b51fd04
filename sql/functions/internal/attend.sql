-- Attends to the due asks of these queues, as part of a claim, and is the only function that gives out slots: wakes
-- grouped tasks whose time has come, and gives the free slots of a group to its first waiting tasks, by priority and
-- id. A task that has a slot (gate 'h') is an ordinary row for the claim; one that waits for a slot ('w') or for its
-- time ('d') is blocked. As many groups have their turn as have slots for _most tasks, by the estimates of their asks
-- and the limit of their queue, then more if these got few; those with more to give than their share ask again. More
-- slots than a claim can take would stay unclaimed, and the next turn of each such group would have to look whether a
-- more urgent task wants one [1,000 groups of at most 3, claims of 200: 125 us a claimed task with a turn for 200
-- groups, 81 with one for 67].
--
-- The slot is the row itself, so nothing can leak. A limit could be exceeded only by two sessions that fill a group at
-- once: each takes the mutex of the group first, and counts in a later statement, whose snapshot has all that the
-- session before it committed. Waits for nothing: what others have locked is passed, and its ask stays or is repeated.
-- Groups take turns in the order in which they asked, however many tasks wait in each. One whose mutex another session
-- has takes no turn: otherwise a claim of one task could meet only groups locked by a long claim of a thousand.
--
-- attend: reads the asks, and takes the mutexes of their groups
--   attend_asks: all of these groups together; where that fails, each alone
--     attend_groups: deletes the asks, and wakes the tasks whose time has come
--       fill_groups: gives out the slots
--
-- _queues, _types, _cursor and _look_back_to are those of taskq.claim; _open are the queues that are not paused.
-- Returns the tasks that got slots (given), those that the database refuses to write (refused) and, by queue, the place
-- before the first ask that is left, [due_at in epoch microseconds, id] (left_over; null: none is left).
create or replace function taskq.attend(
  _queues text[], _open text[], _types text[], _look_back_to timestamptz, _cursor bigint[], _most integer,
  _ts timestamptz, _one_by_one boolean default false, out left_over jsonb, out given bigint[], out refused jsonb
)
language plpgsql security definer
set search_path = pg_catalog, taskq, pg_temp
set jit = off
set enable_seqscan = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
  -- How many tasks the groups that have their turn may get a slot for, by the estimates of their asks or one for each.
  room integer := _most;
  by_estimate boolean := true;
  page integer := 20 + 2 * room;
  asks taskq.asks[];
  due taskq.asks[];
  busy taskq.asks[];
  is_full boolean;
  reads_on boolean := false;
  groups integer;
  groups_wanted integer;
  turns integer := 0;
  passed record;
begin
  if room >= 20 then
    -- Where each group can give out several slots, fewer asks are enough, even beside three more claims.
    page := least(page, 1000, 20 + 4 * room / (
      select case when count(q.group_limit) = cardinality(_open) then least(min(q.group_limit), 10) else 1 end
      from taskq.queues q where q.name = any (_open)
    ));
  end if;
  for pass in 1 .. 3 loop
    loop
      asks := array(
        select a.ask
        from unnest(_queues) with ordinality as asked (name, place)
        cross join lateral (
          select coalesce(taskq.cursor_at(_cursor, asked.place, 10), '-infinity') as at,
            coalesce(taskq.cursor_id(_cursor, asked.place, 10), 0) as id
        ) as p
        cross join lateral (
          select l as ask from taskq.asks l
          where l.queue = asked.name and l.due_at <= _ts and (l.due_at, l.id) > (
            least(p.at, _look_back_to), case when p.at <= coalesce(_look_back_to, 'infinity') then p.id else 0 end
          )
          order by l.due_at, l.id
          limit page
        ) as a
        where asked.name = any (_open)
      );
      exit when asks = '{}';
      -- One ask is what a claim finds most often, and a quarter of its time if it is treated as one of many.
      if cardinality(asks) = 1 then
        perform from taskq.group_mutexes l
        where l.place = taskq.mutex_of(asks[1].queue, asks[1].key)
        for no key update skip locked;
        if found then
          due := asks;
        else
          busy := asks;
        end if;
        exit;
      end if;
      -- The asks of the first groups that no other session has, in the order of their times, and where those of the
      -- others begin.
      with read as materialized (
        select a as ask, a.queue, a.key, a.due_at, a.id, row_number() over () as nth from unnest(asks) as a
      ),
      -- How many slots the turn of a group gives out at most; without a limit, groups share them.
      limits as materialized (
        select q.name as queue, least(q.group_limit, 10) as most from taskq.queues q
        where q.name = any (_open) and q.group_limit is not null and by_estimate
      ),
      asking as materialized (
        -- The ask of a whole queue takes no turn.
        select g.queue, g.key, row_number() over (partition by g.key = '' order by g.due_at, g.nth) as turn,
          sum(least(g.slots, coalesce(l.most, 1)))
            over (partition by g.key = '' order by g.due_at, g.nth) as slots
        from (
          select r.queue, r.key, min(r.due_at) as due_at, min(r.nth) as nth, sum((r.ask).slots) as slots
          from read r group by 1, 2
        ) as g
        left join limits l on l.queue = g.queue
      ),
      -- How many groups fit, at least one.
      wanted as (
        select least(greatest(count(*) filter (where a.slots <= room), 1), count(*)) as groups
        from asking a where a.key <> ''
      ),
      -- Locks one mutex after the other until enough are found: a group that another session has takes no turn.
      taken as materialized (
        select g.queue, g.key, g.turn
        from (select a.queue, a.key, a.turn from asking a where a.key <> '' order by a.turn) as g
        cross join lateral (
          select from taskq.group_mutexes l
          where l.place = taskq.mutex_of(g.queue, g.key) limit 1 for no key update skip locked
        ) as m
        limit (select w.groups from wanted w)
      ),
      taken_whole as materialized (
        select g.queue, g.key
        from asking g
        cross join lateral (
          select from taskq.group_mutexes l
          where l.place = taskq.mutex_of(g.queue, '') limit 1 for no key update skip locked
        ) as m
        where g.key = '' and g.turn <= _most
      ),
      last_turn as (
        select case when count(*) >= (select w.groups from wanted w) then max(t.turn) end as turn, count(*) as groups
        from taken t
      ),
      turns as (
        select a.queue, a.key, a.turn, m.queue is not null as is_taken,
          case when a.key = '' then a.turn <= _most else (a.turn <= l.turn) is not false end as is_due
        from asking a
        cross join last_turn l
        left join (select t.queue, t.key from taken t union all select w.queue, w.key from taken_whole w) as m
          on m.queue = a.queue and m.key = a.key
      ),
      -- How far each queue was read: it has more asks if that is a page.
      ends as (
        select r.queue, max(r.nth) as nth from read r group by r.queue having count(*) = page
      ),
      left_behind as (
        select distinct on (r.queue) r.queue, r.due_at, r.id
        from read r
        join turns t on t.queue = r.queue and t.key = r.key
        left join ends e on e.nth = r.nth
        where not t.is_due or e.nth is not null
        order by r.queue, r.nth
      )
      select array_agg(r.ask) filter (where t.is_due and t.is_taken),
        array_agg(r.ask) filter (where t.is_due and not t.is_taken and t.key <> ''),
        (
          select jsonb_object_agg(l.queue, jsonb_build_array(taskq.epoch_us(l.due_at), l.id - 1)) from left_behind l
        ),
        exists (select from ends),
        -- Other claims have groups of this page, perhaps all of them: the first free one may come later.
        page < 1000 and exists (select from ends)
          and (select l.groups from last_turn l) < (select w.groups from wanted w),
        (select l.groups from last_turn l), (select w.groups from wanted w)
      into due, busy, left_over, is_full, reads_on, groups, groups_wanted
      from read r
      join turns t on t.queue = r.queue and t.key = r.key;
      exit when reads_on is not true;
      page := 1000;
    end loop;
    if busy is not null then
      -- If another session holds a group for long, its asks would hide those of other groups behind them. Keep only the
      -- latest, and move it behind the others. It is locked here, so that the other session cannot delete it.
      with stale as materialized (
        select l.row_at, row_number() over (partition by a.queue, a.key order by a.due_at desc, a.id desc) as nth
        from unnest(busy) as a
        cross join lateral (
          select o.ctid as row_at from taskq.asks o
          where o.queue = a.queue and o.due_at = a.due_at and o.id = a.id
          limit 1
          for update skip locked
        ) as l
        where a.task_id is null and a.due_at < _ts - interval '1 second'
      ),
      kept as (
        update taskq.asks o set due_at = _ts
        where o.ctid = any (array(select s.row_at from stale s where s.nth = 1))
      )
      delete from taskq.asks o where o.ctid = any (array(select s.row_at from stale s where s.nth > 1));
    end if;
    exit when due is null;
    -- With these asks go the later ones of the same groups, a thousand at most. Else each would get its group another
    -- turn: one that was filled by single enqueues would have a turn for each, and where groups have no limit the asks
    -- would grow by one with each task that ends [1,000 groups, 16,000 tasks: 18,000 asks; 2,000 so].
    if is_full then
      -- From the first ask on: the dead rows of earlier ones lie before it.
      due := due || array(
        select later.ask
        from (
          select a.queue, a.key, min(a.due_at) as first_due, array_agg(a.id) as ids from unnest(due) as a
          where a.key <> '' group by a.queue, a.key
        ) as g
        cross join lateral (
          select l as ask from taskq.asks l
          where l.queue || '' = g.queue and l.key = g.key and l.due_at >= g.first_due and l.due_at <= _ts
            and l.id <> all (g.ids)
          order by l.due_at, l.id
          limit 1000
        ) as later
        limit 1000
      );
    end if;
    select a.given, a.refused into passed
    from taskq.attend_asks(due, _queues, _types, _cursor, room, _ts, _one_by_one) as a;
    given := given || passed.given;
    refused := nullif(coalesce(refused, '[]') || coalesce(passed.refused, '[]'), '[]');
    -- The estimates may promise too much, of groups that are stopped, have nothing left, or were attended to by another
    -- claim meanwhile: then others have their turn, at last as many groups as there may be tasks.
    turns := turns + groups;
    room := _most - greatest(turns, cardinality(given), 0);
    exit when pass = 3 or left_over is null or groups < groups_wanted or room <= 0
      or 4 * coalesce(cardinality(given), 0) >= _most;
    by_estimate := pass = 1;
    page := least(20 + 2 * room, 1000);
    due := null;
    busy := null;
    left_over := null;
  end loop;
end
$$;
